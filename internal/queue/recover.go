package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// AwaitInterruption waits until a job that w holds is canceled, which gives
// true, or is no longer held: then the error is one that Lost knows.
func (s *Service) AwaitInterruption(ctx context.Context, w Worker, jobID string, fence int64) (canceled bool, err error) {
	id, err := uuid.Parse(jobID)
	if err != nil {
		return false, coder.Invalid("job_id", "%.40q is not an id", jobID)
	}
	hints, done := s.Hub.Subscribe(notify.Interrupt(id))
	defer done()
	for {
		row, err := s.Store.QueueJob(ctx, id)
		r := row.ProvisionerJob
		switch {
		case coder.Is(err, coder.CodeNotFound):
			return false, lostError{coder.Errorf(coder.CodePrecondition, "There is no job %s", id)}
		case err != nil:
			return false, err
		case r.CompletedAt != nil || r.StartedAt == nil || r.Fence != fence || r.WorkerID == nil || *r.WorkerID != w.ID:
			return false, lostError{coder.Errorf(coder.CodePrecondition, "Job %s is not held by this provisioner, or not any more", id)}
		case r.CanceledAt != nil:
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-hints:
		}
	}
}

// Recover takes the state of a build that nobody runs any more: its daemon
// died and left it behind, or let go when it could not reach the server. A
// build that is still held under that fence is put back at once; one that
// failed, or waits for its next provisioner, has the newer state from then on.
// When the build went on without that state, nothing changes and stale is true. Only a worker that could have had the job
// may speak for it, and nobody for one whose holder is alive.
func (s *Service) Recover(ctx context.Context, w Worker, l *provisionerd.Leftover) (stale bool, err error) {
	id, err := uuid.Parse(l.JobId)
	if err != nil {
		return false, coder.Invalid("job_id", "%.40q is not an id", l.JobId)
	}
	var job Job
	var running, again bool
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		stale, running, again = false, false, false
		row, err := q.QueueLock(ctx, id)
		if coder.Is(err, coder.CodeNotFound) {
			return lostError{coder.Errorf(coder.CodePrecondition, "There is no job %s", id)}
		}
		if err != nil {
			return err
		}
		r := row.ProvisionerJob
		job = jobOf(r, row.Tags)
		if job.OrganizationID != w.OrganizationID || !w.Tags.Match(row.Tags) {
			return lostError{coder.Errorf(coder.CodePrecondition, "There is no job %s", id)}
		}
		status := coder.ProvisionerJobStatus(r.Status)
		if r.Fence != l.Fence || job.Type != coder.ProvisionerJobTypeWorkspaceBuild {
			stale = true
			return nil
		}
		if other := r.WorkerID != nil && *r.WorkerID != w.ID; other && r.CompletedAt == nil && time.Since(r.UpdatedAt) < alive(r) {
			return lostError{coder.Errorf(coder.CodePrecondition, "Job %s is held by another provisioner, which is alive", id)}
		}
		if status == coder.ProvisionerJobStatusSucceeded {
			return nil // that state is known
		}
		if stale, err = s.keepLeftover(ctx, q, job, l); err != nil || stale {
			return err
		}
		if running = r.StartedAt != nil && r.CompletedAt == nil; !running {
			return nil
		}
		why := fmt.Sprintf("The provisioner %q was lost or let go of the job, and its state was recovered.", r.WorkerName)
		if r.CanceledAt != nil {
			return s.fail(ctx, q, job, &provisionerd.FailedJob{Error: why}, outcome{canceled: true})
		}
		r.Resumable = true // what it made is in the state
		again, err = s.giveUp(ctx, q, r, job, why)
		return err
	})
	if err != nil {
		return false, err
	}
	s.Log.Info("the state of a lost job was found", "job", id, "worker", w.Name, "taken", !stale, "run_again", again)
	if again {
		s.Hub.Publish(notify.Jobs(job.OrganizationID))
	}
	if running {
		s.changed(ctx, job)
	}
	return stale, nil
}

// alive is how long a holder that says nothing is taken to be well: a third of
// its lease is several of its updates.
func alive(r sqlc.ProvisionerJob) time.Duration {
	return time.Duration(r.LeaseMs) * time.Millisecond / 3
}

// keepLeftover hands a state to the job's handler, which refuses one that a
// later build has left behind.
func (s *Service) keepLeftover(ctx context.Context, q *sqlc.Queries, job Job, l *provisionerd.Leftover) (stale bool, err error) {
	if len(l.State) == 0 {
		return false, nil
	}
	h, err := s.handler(job.Type)
	if err != nil {
		return false, err
	}
	_, err = h.Update(ctx, q, job, &provisionerd.UpdateJobRequest{JobId: l.JobId, State: l.State})
	if coder.Is(err, coder.CodePrecondition) {
		return true, nil
	}
	return false, err
}
