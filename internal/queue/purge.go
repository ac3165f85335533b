package queue

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// PurgeLogs deletes, in small batches, the logs of jobs that ended longer than keep ago, and returns the
// number of lines. The logs of the latest build of each workspace and of imports of active versions stay.
func (s *Service) PurgeLogs(ctx context.Context, keep time.Duration) (total int64, err error) {
	return postgres.PurgeEach(ctx, func(after uuid.UUID) ([]sqlc.JobsWithLogsRow, error) {
		return s.Store.JobsWithLogs(ctx, int64(keep.Seconds()), after)
	}, func(job uuid.UUID) (int64, error) { return s.Store.JobPurgeLogs(ctx, job) })
}

// PurgeTimings is PurgeLogs for timings of builds and of their scripts. Those of the latest build of each
// workspace stay.
func (s *Service) PurgeTimings(ctx context.Context, keep time.Duration) (total int64, err error) {
	return postgres.PurgeEach(ctx, func(after uuid.UUID) ([]sqlc.JobsWithTimingsRow, error) {
		return s.Store.JobsWithTimings(ctx, int64(keep.Seconds()), after)
	}, func(job uuid.UUID) (int64, error) { return s.Store.JobPurgeTimings(ctx, job) })
}
