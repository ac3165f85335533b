// Package lifecycle is the one contract of everything that has a goroutine:
// start, then stop, where stop first drains and only at the deadline cancels.
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Service is something that lives. Start begins and returns; the context is
// for the start alone. Stop ends it, orderly until ctx ends and at once
// after; it returns when all parts of the service have ended. Stop after a
// failed Start is not called.
type Service interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
}

// Named is a service and what to call it in errors.
type Named struct {
	Name    string
	Service Service
}

// Group starts services in order and stops them in the opposite order.
type Group struct {
	mu      sync.Mutex
	running []Named
}

// Start starts the services one after the other. When one fails, those
// started before are stopped and its error is given.
func (g *Group) Start(ctx context.Context, services ...Named) error {
	for _, s := range services {
		if err := s.Service.Start(ctx); err != nil {
			return errors.Join(fmt.Errorf("start %s: %w", s.Name, err), g.Stop(ctx))
		}
		g.mu.Lock()
		g.running = append(g.running, s)
		g.mu.Unlock()
	}
	return nil
}

// Stop stops what runs, the last started first, and joins the errors.
func (g *Group) Stop(ctx context.Context) error {
	g.mu.Lock()
	running := g.running
	g.running = nil
	g.mu.Unlock()
	var errs []error
	for i := len(running) - 1; i >= 0; i-- {
		if err := running[i].Service.Stop(ctx); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", running[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

// Loop is a Service that runs one function in a goroutine until stopped. The
// function's context ends at Stop.
type Loop struct {
	Run func(ctx context.Context)

	cancel context.CancelFunc
	done   chan struct{}
}

// Start runs the function.
func (l *Loop) Start(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel, l.done = cancel, make(chan struct{})
	go func() {
		defer close(l.done)
		l.Run(ctx)
	}()
	return nil
}

// Stop cancels the function and waits for it, or for ctx.
func (l *Loop) Stop(ctx context.Context) error {
	l.cancel()
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
