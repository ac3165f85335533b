package tunnel

import (
	"context"
	"errors"

	"github.com/quic-go/quic-go"
)

// Abandoned reports whether the other side stopped reading the stream: it will not read later
// writes.
func (s *Stream) Abandoned() bool {
	e, ok := errors.AsType[*quic.StreamError](context.Cause(s.Context()))
	return ok && e.Remote
}

// WhenAbandoned calls f in its own goroutine once the stream is abandoned. The caller calls
// stop when the stream no longer matters. f is then not called, unless it has been called
// already.
func (s *Stream) WhenAbandoned(f func()) (stop func() bool) {
	return context.AfterFunc(s.Context(), func() {
		if s.Abandoned() {
			f()
		}
	})
}
