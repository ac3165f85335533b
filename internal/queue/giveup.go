package queue

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// ReadInput decodes the job's input into v, a pointer. Input that cannot be decoded never
// can be; the error is a CodeInvalid that users can read.
func (j Job) ReadInput(v any) error {
	if err := json.Unmarshal(j.Input, v); err != nil {
		return codersdk.Errorf(codersdk.CodeInvalid, "The input of the job cannot be read; start it again").WithDetail("%v", err)
	}
	return nil
}

// Holds reports whether w holds the job with that fence, and whether it is a workspace
// build.
func (s *Service) Holds(ctx context.Context, w Worker, jobID uuid.UUID, fence int64) (holds, build bool, err error) {
	row, err := s.Store.QueueJob(ctx, jobID)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return false, false, nil
	}
	r := row.ProvisionerJob
	holds = r.CompletedAt == nil && r.StartedAt != nil && r.Fence == fence && r.WorkerID != nil && *r.WorkerID == w.ID
	return holds, codersdk.ProvisionerJobType(r.Type) == codersdk.ProvisionerJobTypeWorkspaceBuild, err
}

// TakeAway takes a job from a worker that is disconnected, with the same result as a lost
// lease: imports and dry runs are run again; a build continues elsewhere from its last
// reported state, or fails with that state. why is the first sentence of the message in
// the job's log.
func (s *Service) TakeAway(ctx context.Context, w Worker, jobID uuid.UUID, fence int64, why string) error {
	var job Job
	var again bool
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) (err error) {
		row, j, err := s.held(ctx, q, w, jobID.String(), fence)
		if err != nil {
			return err
		}
		job = j
		again, err = s.giveUp(ctx, q, row, j, why)
		return err
	})
	if Lost(err) {
		return nil // the job ended in the meantime
	}
	if err != nil {
		return err
	}
	s.Log.Warn("took a job from its provisioner", "job", jobID, "type", job.Type, "worker", w.Name, "reason", why, "run_again", again)
	if again {
		s.Hub.Publish(notify.Jobs(job.OrganizationID))
	}
	s.changed(ctx, job)
	return nil
}
