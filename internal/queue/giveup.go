package queue

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// ReadInput decodes the job's input into what v points at. What cannot be
// decoded never can: the error is a CodeInvalid that people may read.
func (j Job) ReadInput(v any) error {
	if err := json.Unmarshal(j.Input, v); err != nil {
		return coder.Errorf(coder.CodeInvalid, "The input of the job cannot be read; start it anew").WithDetail("%v", err)
	}
	return nil
}

// Holds says whether w still has the job under that fence, and whether it is a
// workspace build.
func (s *Service) Holds(ctx context.Context, w Worker, jobID uuid.UUID, fence int64) (holds, build bool, err error) {
	row, err := s.Store.QueueJob(ctx, jobID)
	if coder.Is(err, coder.CodeNotFound) {
		return false, false, nil
	}
	r := row.ProvisionerJob
	holds = r.CompletedAt == nil && r.StartedAt != nil && r.Fence == fence && r.WorkerID != nil && *r.WorkerID == w.ID
	return holds, coder.ProvisionerJobType(r.Type) == coder.ProvisionerJobTypeWorkspaceBuild, err
}

// TakeAway takes a job from a worker that is sent away, with the same outcome
// as if it had been lost: what has no effect outside is run again, a build goes
// on elsewhere from the last state that was heard, or fails with that state.
// why is the sentence that the job's log begins the news with.
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
		return nil // it ended by itself
	}
	if err != nil {
		return err
	}
	s.Log.Warn("a job was taken from its provisioner", "job", jobID, "type", job.Type, "worker", w.Name, "reason", why, "run_again", again)
	if again {
		s.Hub.Publish(notify.Jobs(job.OrganizationID))
	}
	s.changed(ctx, job)
	return nil
}
