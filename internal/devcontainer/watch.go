package devcontainer

import (
	"context"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// Intervals of queries while Docker does not respond.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// watch starts to follow Docker's events when there are dev containers. The
// caller holds mu.
func (s *Set) watch() {
	if s.watching || len(s.items) == 0 || s.ctx == nil {
		return
	}
	s.watching = true
	news := make(chan struct{}, 1)
	s.spawn(func() { s.follow(s.ctx, news) })
	s.spawn(func() { s.gather(s.ctx, news) })
}

// gather refreshes the items shortly after an event.
func (s *Set) gather(ctx context.Context, news <-chan struct{}) {
	for {
		select {
		case <-news:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(calm):
		case <-ctx.Done():
			return
		}
		s.refresh(ctx, 0)
	}
}

// follow sends an event whenever a container starts or stops.
func (s *Set) follow(ctx context.Context, news chan<- struct{}) {
	for wait := (lifecycle.Backoff{First: firstRetry, Limit: lastRetry}); ; {
		s.asking.Lock()
		since := s.asked
		s.asking.Unlock()
		if since.IsZero() {
			since = time.Now()
		}
		began := time.Now()
		err := s.tools.events(ctx, since, func() {
			select {
			case news <- struct{}{}:
			default:
			}
		})
		if ctx.Err() != nil {
			return
		}
		s.c.Log.Warn("cannot follow Docker's events; retrying", "error", err)
		s.refresh(ctx, 0)
		if time.Since(began) > lastRetry {
			wait.Reset()
		}
		if !wait.Sleep(ctx) {
			return
		}
	}
}
