package telemetry

import (
	"context"
	"sync"
)

// HandOver is how what goes around a request learns that its connection lives
// on after the handler has returned. A handler that upgrades a connection for
// hours returns early, so that the request, its buffers and the handler's stack
// are not kept for as long.
type HandOver struct {
	mu    sync.Mutex
	taken bool
	ended bool
	end   func()
}

type handOverKey struct{}

// WithHandOver gives a context for a handler, which may call Detach on it.
func WithHandOver(ctx context.Context) (context.Context, *HandOver) {
	h := &HandOver{}
	return context.WithValue(ctx, handOverKey{}, h), h
}

// Then calls f when the request is over: now, or when the connection that was
// taken over ends. It is called once, after the handler.
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

// Detach says that the connection of a request is taken over. The caller calls
// ended once when the connection is over.
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
