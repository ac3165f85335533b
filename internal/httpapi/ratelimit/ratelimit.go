// Package ratelimit limits the requests of a user or an address per minute.
package ratelimit

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Bounds of a Limiter.
const (
	defaultRateLimit = 512 // requests per minute
	maxLimited       = 50_000
	// PublicShare multiplies the limit of an address on routes without a token,
	// because a whole office may sign in from one address.
	PublicShare = 20
)

// Limiter counts requests by user or address. Two generations of buckets bound
// its memory. When the newer generation is full or a minute old, it becomes the
// older one, and the previous older one is dropped. A dropped bucket would be
// full again by then. It is safe for concurrent use.
type Limiter struct {
	perMinute int

	mu           sync.Mutex
	newer, older map[string]*rate.Limiter
	rotated      time.Time
}

// New returns a Limiter of that many requests per minute; 0 means 512, and a
// negative number disables it.
func New(perMinute int) *Limiter {
	if perMinute == 0 {
		perMinute = defaultRateLimit
	}
	return &Limiter{perMinute: perMinute, newer: map[string]*rate.Limiter{}}
}

// Allow counts one request of a user or address. Over the limit it returns an
// error with the time until the next request is allowed.
func (l *Limiter) Allow(key string) error { return l.AllowKey(key, l.perMinute) }

// AllowPublic counts one request to a route that needs no token.
func (l *Limiter) AllowPublic(ip string) error {
	return l.AllowKey("public "+ip, PublicShare*l.perMinute)
}

// AllowKey counts one request against another limit per minute. Keys of different
// limits must differ.
func (l *Limiter) AllowKey(key string, perMinute int) error {
	if l.perMinute < 0 {
		return nil
	}
	r := l.bucket(key, perMinute).Reserve()
	wait := r.Delay()
	if wait == 0 {
		return nil
	}
	r.Cancel()
	return codersdk.Errorf(codersdk.CodeRateLimited,
		"Too many requests: the limit is %d per minute. Wait a moment and try again.", perMinute).WithRetryAfter(wait)
}

func (l *Limiter) bucket(key string, perMinute int) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.rotated) > time.Minute || len(l.newer) >= maxLimited {
		l.older, l.newer, l.rotated = l.newer, map[string]*rate.Limiter{}, now
	}
	if b := l.newer[key]; b != nil {
		return b
	}
	b := l.older[key]
	if b == nil {
		b = rate.NewLimiter(rate.Limit(float64(perMinute)/60), perMinute)
	}
	l.newer[key] = b
	return b
}
