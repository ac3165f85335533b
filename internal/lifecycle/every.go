package lifecycle

import (
	"context"
	"time"
)

// Every calls fn after each interval until ctx ends; the first call comes one
// interval after Every was called. Calls never overlap: a tick that passes
// while fn runs is dropped. The interval must be positive.
func Every(ctx context.Context, interval time.Duration, fn func(ctx context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			fn(ctx)
		}
	}
}

// Poll calls check at once, then after each value of wake and at least once per
// interval, until check reports done or fails, or ctx ends. It returns the
// error of check or of ctx. Calls never overlap. A nil wake never fires.
//
// It is the loop of everything that follows hints: a lost hint costs at most
// one interval.
func Poll(ctx context.Context, interval time.Duration, wake <-chan struct{}, check func(ctx context.Context) (done bool, err error)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if done, err := check(ctx); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		case <-ticker.C:
		}
	}
}
