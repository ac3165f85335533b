package httpapi

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/seed-2a7f8fe7/coder"
)

// Bounds of the limiter.
const (
	defaultRateLimit = 512 // requests a minute
	maxLimited       = 50_000
)

// limiter counts requests by user or address. Two generations bound its
// memory: when the young one is full, or a minute old, it becomes the old one
// and the old one is forgotten, by when its buckets are full again anyway.
type limiter struct {
	perMinute int

	mu         sync.Mutex
	young, old map[string]*rate.Limiter
	turned     time.Time
}

func newLimiter(perMinute int) *limiter {
	if perMinute == 0 {
		perMinute = defaultRateLimit
	}
	return &limiter{perMinute: perMinute, young: map[string]*rate.Limiter{}}
}

// take counts one request, or says that there were too many.
func (l *limiter) take(key string) error {
	if l.perMinute < 0 || l.bucket(key).Allow() {
		return nil
	}
	return coder.Errorf(coder.CodeRateLimited, "Too many requests: at most %d a minute are taken. Wait a moment and try again.", l.perMinute)
}

func (l *limiter) bucket(key string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.turned) > time.Minute || len(l.young) >= maxLimited {
		l.old, l.young, l.turned = l.young, map[string]*rate.Limiter{}, now
	}
	if b := l.young[key]; b != nil {
		return b
	}
	b := l.old[key]
	if b == nil {
		b = rate.NewLimiter(rate.Limit(float64(l.perMinute)/60), l.perMinute)
	}
	l.young[key] = b
	return b
}
