package queue

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// Claim claims a job that w can run, without waiting; ok is false if there is none. It is
// for callers that choose among several queues. The caller then calls Begin.
func (s *Service) Claim(ctx context.Context, w Worker) (job Job, ok bool, err error) {
	d := &dispatcher{s: s, org: w.OrganizationID}
	jobs, err := d.claim(ctx, s.leased(w), []*waiter{{w: w}})
	if err != nil || len(jobs) == 0 {
		return Job{}, false, err
	}
	return jobs[0].job, true, nil
}

// Begin prepares a claimed job for its worker. It returns nil without an error if that is
// impossible and the job failed. On an error the job has been returned to the queue.
func (s *Service) Begin(ctx context.Context, w Worker, job Job) (*provisionerd.AcquiredJob, error) {
	return s.begin(ctx, s.leased(w), job)
}

// leased returns a worker with the default lease if it has none.
func (s *Service) leased(w Worker) Worker {
	if w.Lease <= 0 {
		w.Lease = s.Lease
	}
	return w
}

// OrganizationOf returns the organization of a job.
func (s *Service) OrganizationOf(ctx context.Context, jobID uuid.UUID) (uuid.UUID, error) {
	return s.Store.QueueOrganization(ctx, jobID)
}
