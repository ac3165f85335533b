package queue

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// PurgeLogs deletes, in small batches, the logs of jobs that ended longer than keep ago, and returns the
// number of lines. The logs of the latest build of each workspace and of imports of active versions stay.
func (s *Service) PurgeLogs(ctx context.Context, keep time.Duration) (total int64, err error) {
	for after := uuid.Nil; ; {
		jobs, err := s.Store.JobsWithLogs(ctx, int64(keep.Seconds()), after)
		if err != nil || len(jobs) == 0 {
			return total, err
		}
		for _, j := range jobs {
			after = j.ID
			if !j.Deletable {
				continue
			}
			n, err := postgres.InBatches(ctx, func() (int64, error) { return s.Store.JobPurgeLogs(ctx, j.ID) })
			total += n
			if err != nil {
				return total, err
			}
		}
	}
}

// PurgeTimings is PurgeLogs for timings of builds and of their scripts. Those of the latest build of each
// workspace stay.
func (s *Service) PurgeTimings(ctx context.Context, keep time.Duration) (total int64, err error) {
	for after := uuid.Nil; ; {
		jobs, err := s.Store.JobsWithTimings(ctx, int64(keep.Seconds()), after)
		if err != nil || len(jobs) == 0 {
			return total, err
		}
		for _, j := range jobs {
			after = j.ID
			if !j.Deletable {
				continue
			}
			n, err := postgres.InBatches(ctx, func() (int64, error) { return s.Store.JobPurgeTimings(ctx, j.ID) })
			total += n
			if err != nil {
				return total, err
			}
		}
	}
}
