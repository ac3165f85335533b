package devcontainer

import (
	"context"
	"time"
)

// How long it takes until Docker is asked again that does not answer.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// watch begins to follow what Docker does, once there is something to follow it
// for. The caller holds mu.
func (s *Set) watch() {
	if s.watching || len(s.items) == 0 || s.ctx == nil {
		return
	}
	s.watching = true
	news := make(chan struct{}, 1)
	s.spawn(func() { s.follow(s.ctx, news) })
	s.spawn(func() { s.gather(s.ctx, news) })
}

// gather looks anew a moment after there is news.
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

// follow makes it news whenever Docker says that a container began or ended.
func (s *Set) follow(ctx context.Context, news chan<- struct{}) {
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
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
		s.c.Log.Warn("Docker cannot be followed; trying again", "error", err)
		s.refresh(ctx, 0)
		if time.Since(began) > lastRetry {
			wait = firstRetry
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}
