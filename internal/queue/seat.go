package queue

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// AcquireNow is Acquire that does not wait: it gives nil when there is no job
// that w may run. It is for who chooses among several queues.
func (s *Service) AcquireNow(ctx context.Context, w Worker) (*provisionerd.AcquiredJob, error) {
	if w.Lease <= 0 {
		w.Lease = s.Lease
	}
	d := &dispatcher{s: s, org: w.OrganizationID}
	for {
		jobs, err := d.claim(ctx, w, []*waiter{{w: w}})
		if err != nil || len(jobs) == 0 {
			return nil, err
		}
		if a, err := s.begin(ctx, w, jobs[0].job); a != nil || err != nil {
			return a, err
		}
	}
}

// OrganizationOf gives the organization of a job.
func (s *Service) OrganizationOf(ctx context.Context, jobID uuid.UUID) (uuid.UUID, error) {
	return s.Store.QueueOrganization(ctx, jobID)
}
