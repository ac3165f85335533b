package base

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// clockInterval is the time between readings of the database's clock.
const clockInterval = time.Minute

// maxReading bounds the round trip of a reading: half of it is the error.
const maxReading = 2 * time.Second

// ReadClock sets Now by the clock of the database, which all replicas share. A reading that takes long
// leaves the clock as it is.
func (b *Base) ReadClock(ctx context.Context) error {
	sent := time.Now()
	now, err := b.Store.Clock(ctx)
	if err != nil {
		return fmt.Errorf("read the clock of the database: %w", err)
	}
	if time.Since(sent) > maxReading {
		return nil
	}
	if ahead := now.Sub(b.clock.Now()).Round(time.Second); ahead.Abs() > time.Minute {
		b.Log.WarnContext(ctx, "the clock of the database differs from this server's; the database's is used", slog.String("ahead", ahead.String()))
	}
	b.clock.Observe(now, sent)
	return nil
}

// Now returns the time by the clock of the database. Changes of this machine's clock have no effect.
func (b *Base) Now() time.Time { return b.clock.Now() }

// ClockService reads the clock of the database in the background.
func (b *Base) ClockService() lifecycle.Named {
	return lifecycle.Named{Name: "clock", Service: &lifecycle.Loop{Run: func(ctx context.Context) {
		lifecycle.Every(ctx, clockInterval, func(ctx context.Context) {
			if err := b.ReadClock(ctx); err != nil && ctx.Err() == nil {
				b.Log.WarnContext(ctx, "cannot read the clock of the database; trying again later", "error", err)
			}
		})
	}}}
}
