package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// AwaitInterruption waits until a job that w holds is canceled, which returns true, or is
// no longer held, which returns an error that Lost reports.
func (s *Service) AwaitInterruption(ctx context.Context, w Worker, jobID string, fence int64) (canceled bool, err error) {
	id, err := uuid.Parse(jobID)
	if err != nil {
		return false, codersdk.Invalid("job_id", "%.40q is not a UUID", jobID)
	}
	hints, done := s.Hub.Subscribe(notify.Interrupt(id))
	defer done()
	for {
		row, err := s.Store.QueueJob(ctx, id)
		r := row.ProvisionerJob
		switch {
		case codersdk.Is(err, codersdk.CodeNotFound):
			return false, lostError{codersdk.Errorf(codersdk.CodePrecondition, "Job %s not found", id)}
		case err != nil:
			return false, err
		case r.CompletedAt != nil || r.StartedAt == nil || r.Fence != fence || r.WorkerID == nil || *r.WorkerID != w.ID:
			return false, lostError{codersdk.Errorf(codersdk.CodePrecondition, "Job %s is not, or no longer, assigned to this provisioner", id)}
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

// Recover stores the state of a build that its daemon left behind when it died or lost its
// connection. A build that is still held with that fence returns to the queue at once. A
// build that failed, or waits for its next provisioner, gets the newer state. If the build
// continued without that state, nothing changes and stale is true. The worker must match
// the job's tags, and the holder of the job must not be alive.
func (s *Service) Recover(ctx context.Context, w Worker, l *provisionerd.Leftover) (stale bool, err error) {
	id, err := uuid.Parse(l.JobId)
	if err != nil {
		return false, codersdk.Invalid("job_id", "%.40q is not a UUID", l.JobId)
	}
	var job Job
	var running, again bool
	err = s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		stale, running, again = false, false, false
		row, err := q.QueueLock(ctx, id)
		if codersdk.Is(err, codersdk.CodeNotFound) {
			return lostError{codersdk.Errorf(codersdk.CodePrecondition, "Job %s not found", id)}
		}
		if err != nil {
			return err
		}
		r := row.ProvisionerJob
		job = jobOf(r, row.Tags)
		if job.OrganizationID != w.OrganizationID || !w.Tags.Match(row.Tags) {
			return lostError{codersdk.Errorf(codersdk.CodePrecondition, "Job %s not found", id)}
		}
		status := codersdk.ProvisionerJobStatus(r.Status)
		if r.Fence != l.Fence || job.Type != codersdk.ProvisionerJobTypeWorkspaceBuild {
			stale = true
			return nil
		}
		if other := r.WorkerID != nil && *r.WorkerID != w.ID; other && r.CompletedAt == nil && row.Now.Sub(r.UpdatedAt) < alive(r) {
			return lostError{codersdk.Errorf(codersdk.CodePrecondition, "Job %s is assigned to another provisioner, which is alive", id)}
		}
		if status == codersdk.ProvisionerJobStatusSucceeded {
			return nil // that state is already stored
		}
		if stale, err = s.keepLeftover(ctx, q, job, l); err != nil || stale {
			return err
		}
		if running = r.StartedAt != nil && r.CompletedAt == nil; !running {
			return nil
		}
		why := fmt.Sprintf("The provisioner %q was lost or released the job, and its state was recovered.", r.WorkerName)
		if r.CanceledAt != nil {
			return s.fail(ctx, q, job, &provisionerd.FailedJob{Error: why}, outcome{canceled: true})
		}
		r.Resumable = true // its resources are in the state
		again, err = s.giveUp(ctx, q, r, job, why)
		return err
	})
	if err != nil {
		return false, err
	}
	s.Log.Info("recovered the state of a lost job", "job", id, "worker", w.Name, "taken", !stale, "run_again", again)
	if again {
		s.Hub.Publish(notify.Jobs(job.OrganizationID))
	}
	if running {
		s.changed(ctx, job)
	}
	return stale, nil
}

// alive is the age of the last update up to which a holder counts as alive: a third of its
// lease, which is several update intervals.
func alive(r sqlc.ProvisionerJob) time.Duration {
	return time.Duration(r.LeaseMs) * time.Millisecond / 3
}

// keepLeftover passes a state to the job's handler, which rejects it if there is a later
// build.
func (s *Service) keepLeftover(ctx context.Context, q *sqlc.Queries, job Job, l *provisionerd.Leftover) (stale bool, err error) {
	if len(l.State) == 0 {
		return false, nil
	}
	h, err := s.handler(job)
	if err != nil {
		return false, err
	}
	_, err = h.Update(ctx, q, job, &provisionerd.UpdateJobRequest{JobId: l.JobId, State: l.State})
	if codersdk.Is(err, codersdk.CodePrecondition) {
		return true, nil
	}
	return false, err
}
