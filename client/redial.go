package client

import (
	"math/rand/v2"
	"time"
)

// Redial says how long to wait before a lost connection is dialed again, so
// that the thousand that a server lost at once do not come back at once: the
// first time half a second, then twice as long each time up to Limit, each
// time by chance between half of that and one and a half. It is not safe for
// concurrent use.
type Redial struct {
	Limit time.Duration // 0 means 3 s
	wait  time.Duration
}

const (
	firstRedial = 500 * time.Millisecond
	lastRedial  = 3 * time.Second
)

// Next gives the next wait.
func (r *Redial) Next() time.Duration {
	limit := r.Limit
	if limit <= 0 {
		limit = lastRedial
	}
	r.wait = min(max(2*r.wait, firstRedial), limit)
	return r.wait/2 + rand.N(r.wait)
}

// Reset makes the next wait a first one again.
func (r *Redial) Reset() { r.wait = 0 }
