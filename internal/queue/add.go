package queue

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/standing"
)

// Add puts a job into the queue inside the caller's transaction. The caller
// calls Wake after its commit.
func (s *Service) Add(ctx context.Context, q *sqlc.Queries, j NewJob) error {
	if err := coder.CheckTags("tags", j.Tags); err != nil {
		return err
	}
	if j.Tags[coder.TagScope] == "" {
		j.Tags = coder.NormalizeTags(j.InitiatorID, j.Tags)
	}
	input, err := json.Marshal(j.Input)
	if err != nil {
		return fmt.Errorf("encode the input of job %s: %w", j.ID, err)
	}
	ask := sqlc.QueueTurnsParams{Provisioner: j.Provisioner, Priority: j.Priority, InitiatorID: j.InitiatorID, OrganizationID: j.OrganizationID, Key: j.Tags.Key()}
	seen, err := q.QueueTurns(ctx, ask)
	if coder.Is(err, coder.CodeNotFound) {
		if _, err = q.QueueAddTagSet(ctx, j.OrganizationID, j.Tags.Key(), j.Tags); err == nil {
			seen, err = q.QueueTurns(ctx, ask)
		}
	}
	if err != nil {
		return err
	}
	line := standing.Line{Queue: standing.Queue{TagSet: seen.ID, Provisioner: j.Provisioner}, Class: j.Priority, Initiator: j.InitiatorID}
	p := sqlc.QueueAddParams{
		ID: j.ID, OrganizationID: j.OrganizationID, InitiatorID: j.InitiatorID, Type: string(j.Type),
		Provisioner: j.Provisioner, Priority: j.Priority, TagSetID: seen.ID, FileID: j.FileID, Input: input, Turn: s.turns.Next(line, seen.Clock, seen.Latest),
	}
	if j.TemplateID != uuid.Nil {
		p.TemplateID = &j.TemplateID
	}
	return q.QueueAdd(ctx, p)
}

// Wake tells waiting provisioners of an organization, here and on other
// replicas, that there may be work.
func (s *Service) Wake(organizationID uuid.UUID) { s.Hub.Publish(notify.Jobs(organizationID)) }

// Cancel ends a pending job at once and asks the provisioner of a running one
// to stop; the caller calls Canceled after its commit. A job that is over or
// already canceling is CodePrecondition. (PRV-18)
func (s *Service) Cancel(ctx context.Context, q *sqlc.Queries, jobID uuid.UUID) error {
	row, err := q.QueueLock(ctx, jobID)
	if err != nil {
		return err
	}
	r := row.ProvisionerJob
	switch status := coder.ProvisionerJobStatus(r.Status); status {
	case coder.ProvisionerJobStatusPending:
		return s.fail(ctx, q, jobOf(r, row.Tags), &provisionerd.FailedJob{Error: "canceled before a provisioner took it"}, outcome{canceled: true})
	case coder.ProvisionerJobStatusRunning:
		return q.QueueAskCancel(ctx, jobID)
	case coder.ProvisionerJobStatusCanceling:
		return coder.Errorf(coder.CodePrecondition, "The job is being canceled already")
	default:
		return coder.Errorf(coder.CodePrecondition, "The job is over: it %s", status.Past())
	}
}

// Canceled sends the hints of a Cancel that was committed.
func (s *Service) Canceled(jobID uuid.UUID) {
	s.Hub.Publish(notify.Job(jobID), notify.Interrupt(jobID))
	s.spawn(func(ctx context.Context) {
		row, err := s.Store.QueueJob(ctx, jobID)
		if err != nil {
			s.Log.Warn("cannot read a canceled job to tell of it", "job", jobID, "error", err)
			return
		}
		s.changed(ctx, jobOf(row.ProvisionerJob, row.Tags))
	})
}
