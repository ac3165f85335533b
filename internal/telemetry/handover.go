package telemetry

import (
	"context"
	"sync"
)

// HandOver informs the code around a handler that the request's connection lives
// on after the handler has returned. A handler that upgrades a connection for
// hours returns early, so that the memory of the request, its buffers and the
// handler's stack is freed.
type HandOver struct {
	mu    sync.Mutex
	taken bool
	ended bool
	end   func()
}

type handOverKey struct{}

// WithHandOver returns a context for a handler, which may call Detach with it.
func WithHandOver(ctx context.Context) (context.Context, *HandOver) {
	h := &HandOver{}
	return context.WithValue(ctx, handOverKey{}, h), h
}

// Then calls f when the request is over: at once, or when the detached
// connection ends. It must be called once, after the handler.
func (h *HandOver) Then(f func()) {
	h.mu.Lock()
	if h.taken && !h.ended {
		h.end = f
		h.mu.Unlock()
		return
	}
	h.mu.Unlock()
	f()
}

// Detach records that the connection of a request was taken over. The caller
// calls ended once when the connection ends.
func Detach(ctx context.Context) (ended func()) {
	h, ok := ctx.Value(handOverKey{}).(*HandOver)
	if !ok {
		return func() {}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken = true
	return func() {
		h.mu.Lock()
		h.ended = true
		f := h.end
		h.mu.Unlock()
		if f != nil {
			f()
		}
	}
}
