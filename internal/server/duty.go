package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// purgeEvery is how often what is no longer wanted is deleted. (CP-24)
const purgeEvery = 10 * time.Minute

// purge is a service that calls fn every purgeEvery. Several replicas may do so
// at once: what one deleted the others do not find.
func purge(log *slog.Logger, what string, fn func(context.Context) (int64, error)) lifecycle.Service {
	return &lifecycle.Loop{Run: func(ctx context.Context) {
		tick := time.NewTicker(purgeEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			n, err := fn(ctx)
			switch {
			case err != nil && ctx.Err() == nil:
				log.Warn("what is no longer wanted could not be deleted; trying again later", "what", what, "error", err)
			case n > 0:
				log.Info("deleted what is no longer wanted", "what", what, "rows", n)
			}
		}
	}}
}
