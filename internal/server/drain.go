package server

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/server/base"
)

// heardWithin is how recently another replica must have written to the database to count as running.
const heardWithin = 30 * time.Second

// drain is the step of a stop between the built-in provisioners and the listeners. If other replicas run,
// it waits for the rest of a period in which /healthz is not ready and everything else is served, so that
// load balancers stop sending requests before the listeners close.
type drain struct {
	base   *base.Base
	period time.Duration
	began  time.Time // of the stop
}

// Start does nothing.
func (d *drain) Start(context.Context) error { return nil }

// Stop waits until the period has passed since the stop began, or until ctx ends.
func (d *drain) Stop(ctx context.Context) error {
	left := d.period - time.Since(d.began)
	if left <= 0 || !d.others(ctx) {
		return nil
	}
	d.base.Log.InfoContext(ctx, "waiting until load balancers send requests to other replicas", "for", left.Round(time.Millisecond).String())
	select {
	case <-time.After(left):
	case <-ctx.Done():
	}
	return nil
}

// others reports whether another replica runs. A database that does not answer while
// the period lasts counts as none.
func (d *drain) others(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, d.period)
	defer cancel()
	alive, err := d.base.Store.ReplicasAlive(ctx, d.base.Now().Add(-heardWithin))
	for _, r := range alive {
		if err == nil && r.ID != d.base.Replica && r.ID != uuid.Nil {
			return true
		}
	}
	return false
}
