package presence

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// PurgeLogs deletes, in small batches, the logs of agents that were last connected longer than keep
// ago, and returns the number of lines. The logs of the latest build of each workspace stay.
func (s *Service) PurgeLogs(ctx context.Context, keep time.Duration) (total int64, err error) {
	before := s.now().Add(-keep)
	return postgres.PurgeEach(ctx, func(after uuid.UUID) ([]sqlc.AgentsWithLogsRow, error) {
		return s.c.Store.AgentsWithLogs(ctx, before, after)
	}, func(agent uuid.UUID) (int64, error) { return s.c.Store.AgentPurgeLogs(ctx, agent) })
}
