package lifecycle

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff computes the waits between attempts that fail: first First, then twice as
// long each time up to Limit, each multiplied by a random factor from 0.5 to 1.5. The
// randomness spreads the clients of a restarted server. A Backoff is not safe for
// concurrent use.
type Backoff struct {
	First time.Duration // 0 means 500 ms
	Limit time.Duration // 0 means 3 s
	wait  time.Duration
}

const (
	firstWait = 500 * time.Millisecond
	lastWait  = 3 * time.Second
)

// Next returns the next wait.
func (b *Backoff) Next() time.Duration {
	first, limit := b.First, b.Limit
	if first <= 0 {
		first = firstWait
	}
	if limit <= 0 {
		limit = lastWait
	}
	b.wait = min(max(2*b.wait, first), limit)
	return b.wait/2 + rand.N(b.wait)
}

// Sleep waits for the next wait or until ctx ends, and reports whether ctx still lives.
func (b *Backoff) Sleep(ctx context.Context) bool {
	t := time.NewTimer(b.Next())
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// Reset restarts the sequence of waits.
func (b *Backoff) Reset() { b.wait = 0 }
