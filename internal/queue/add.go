package queue

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue/explain"
	"github.com/seed-2a7f8fe7/coder/internal/queue/position"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// Add inserts a job into the queue in the caller's transaction. The caller calls Wake
// after the commit.
func (s *Service) Add(ctx context.Context, q *sqlc.Queries, j NewJob) error {
	if err := codersdk.CheckTags("tags", j.Tags); err != nil {
		return err
	}
	if j.Tags[codersdk.TagScope] == "" {
		j.Tags = codersdk.NormalizeTags(j.InitiatorID, j.Tags)
	}
	input, err := json.Marshal(j.Input)
	if err != nil {
		return fmt.Errorf("encode the input of job %s: %w", j.ID, err)
	}
	ask := sqlc.QueueTurnsParams{Provisioner: j.Provisioner, Priority: j.Priority, InitiatorID: j.InitiatorID, OrganizationID: j.OrganizationID, Key: j.Tags.Key()}
	seen, err := q.QueueTurns(ctx, ask)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		if _, err = q.QueueAddTagSet(ctx, j.OrganizationID, j.Tags.Key(), j.Tags); err == nil {
			seen, err = q.QueueTurns(ctx, ask)
		}
	}
	if err != nil {
		return err
	}
	line := position.Line{Queue: position.Queue{TagSet: seen.ID, Provisioner: j.Provisioner}, Class: j.Priority, Initiator: j.InitiatorID}
	p := sqlc.QueueAddParams{
		ID: j.ID, OrganizationID: j.OrganizationID, InitiatorID: j.InitiatorID, Type: string(j.Type),
		Provisioner: j.Provisioner, Priority: j.Priority, TagSetID: seen.ID, FileID: j.FileID, Input: input, Trace: tracing.Carry(ctx),
		Turn: s.turns.Next(line, seen.Clock, seen.Latest),
	}
	if j.TemplateID != uuid.Nil {
		p.TemplateID = &j.TemplateID
	}
	return q.QueueAdd(ctx, p)
}

// Wake notifies waiting provisioners of an organization, on all replicas, that there may
// be a job.
func (s *Service) Wake(organizationID uuid.UUID) { s.Hub.Publish(notify.Jobs(organizationID)) }

// Cancel ends a pending job and asks the provisioner of a running job to stop. The caller
// calls Canceled after the commit. For a finished or already canceled job the error is
// CodePrecondition. (PRV-18)
func (s *Service) Cancel(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID) error {
	row, err := q.QueueLock(ctx, jobID)
	if err != nil {
		return err
	}
	r := row.ProvisionerJob
	switch status := codersdk.ProvisionerJobStatus(r.Status); status {
	case codersdk.ProvisionerJobStatusPending:
		return s.fail(ctx, q, jobOf(r, row.Tags), &provisionerd.FailedJob{Error: "canceled before a provisioner started it"}, outcome{canceled: true})
	case codersdk.ProvisionerJobStatusRunning:
		return q.QueueAskCancel(ctx, jobID)
	case codersdk.ProvisionerJobStatusCanceling:
		return codersdk.Errorf(codersdk.CodePrecondition, "The job is already being canceled")
	default:
		return codersdk.Errorf(codersdk.CodePrecondition, "The job is finished: it %s", explain.Past(status))
	}
}

// Canceled sends the notifications of a committed Cancel.
func (s *Service) Canceled(jobID uuid.UUID) {
	s.Hub.Publish(notify.Job(jobID), notify.Interrupt(jobID))
	s.spawn(func(ctx context.Context) {
		row, err := s.Store.QueueJob(ctx, jobID)
		if err != nil {
			s.Log.Warn("cannot read a canceled job to send notifications", "job", jobID, "error", err)
			return
		}
		s.changed(ctx, jobOf(row.ProvisionerJob, row.Tags))
	})
}
