package presence

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// PurgeLogs deletes, in small batches, the logs of agents that were last connected longer than keep
// ago, and returns the number of lines. The logs of the latest build of each workspace stay.
func (s *Service) PurgeLogs(ctx context.Context, keep time.Duration) (total int64, err error) {
	before, after := s.now().Add(-keep), uuid.Nil
	for {
		agents, err := s.c.Store.AgentsWithLogs(ctx, before, after)
		if err != nil || len(agents) == 0 {
			return total, err
		}
		for _, a := range agents {
			after = a.ID
			if !a.Deletable {
				continue
			}
			n, err := postgres.InBatches(ctx, func() (int64, error) { return s.c.Store.AgentPurgeLogs(ctx, a.ID) })
			total += n
			if err != nil {
				return total, err
			}
		}
	}
}
