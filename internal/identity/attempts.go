package identity

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// attempts bounds how often somebody may try: one bucket per key, a bounded
// number of buckets. It is safe for concurrent use.
type attempts struct {
	now func() time.Time

	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	limiter *rate.Limiter
	used    time.Time
}

// Bounds of the table.
const (
	maxBuckets = 20_000
	bucketIdle = 15 * time.Minute
)

func newAttempts(now func() time.Time) *attempts {
	return &attempts{now: now, buckets: map[string]*bucket{}}
}

// take uses up one of burst attempts, which come back one per every.
func (a *attempts) take(key string, every time.Duration, burst int) bool {
	now := a.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	b := a.buckets[key]
	if b == nil {
		a.makeRoom(now)
		b = &bucket{limiter: rate.NewLimiter(rate.Every(every), burst)}
		a.buckets[key] = b
	}
	b.used = now
	return b.limiter.AllowN(now, 1)
}

// forget gives all attempts of a key back.
func (a *attempts) forget(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.buckets, key)
}

// makeRoom drops idle buckets when the table is full, and if none is idle,
// some at random: a flood of keys may not push out memory.
func (a *attempts) makeRoom(now time.Time) {
	if len(a.buckets) < maxBuckets {
		return
	}
	for k, b := range a.buckets {
		if now.Sub(b.used) > bucketIdle {
			delete(a.buckets, k)
		}
	}
	for k := range a.buckets {
		if len(a.buckets) < maxBuckets*3/4 {
			return
		}
		delete(a.buckets, k)
	}
}
