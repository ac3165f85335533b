package tunnel

import (
	"context"
	"errors"

	"github.com/quic-go/quic-go"
)

// Abandoned reports whether the other side has closed the stream for reading:
// what is written from now on is not read.
func (s *Stream) Abandoned() bool {
	e, ok := errors.AsType[*quic.StreamError](context.Cause(s.Context()))
	return ok && e.Remote
}

// WhenAbandoned calls f in a goroutine of its own once the stream is abandoned.
// The caller calls stop when that no longer matters; f is not called
// then, if it was not before.
func (s *Stream) WhenAbandoned(f func()) (stop func() bool) {
	return context.AfterFunc(s.Context(), func() {
		if s.Abandoned() {
			f()
		}
	})
}
