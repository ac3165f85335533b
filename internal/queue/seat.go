package queue

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// Claim claims a job that w may run, and does not wait for one; ok is false
// when there is none. It is for who chooses among several queues. The job is
// then to be made ready with Begin.
func (s *Service) Claim(ctx context.Context, w Worker) (job Job, ok bool, err error) {
	d := &dispatcher{s: s, org: w.OrganizationID}
	jobs, err := d.claim(ctx, s.leased(w), []*waiter{{w: w}})
	if err != nil || len(jobs) == 0 {
		return Job{}, false, err
	}
	return jobs[0].job, true, nil
}

// Begin makes of a claimed job what its worker needs; nil without an error when
// that cannot be done, and the job failed. When it gives an error the job was
// put back.
func (s *Service) Begin(ctx context.Context, w Worker, job Job) (*provisionerd.AcquiredJob, error) {
	return s.begin(ctx, s.leased(w), job)
}

// leased gives a worker with its lease.
func (s *Service) leased(w Worker) Worker {
	if w.Lease <= 0 {
		w.Lease = s.Lease
	}
	return w
}

// OrganizationOf gives the organization of a job.
func (s *Service) OrganizationOf(ctx context.Context, jobID uuid.UUID) (uuid.UUID, error) {
	return s.Store.QueueOrganization(ctx, jobID)
}
