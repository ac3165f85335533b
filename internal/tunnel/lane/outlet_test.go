package lane_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/lane"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/path"
)

// blockedWrite starts a Write of more than any window, which the other end does
// not read, and returns where its error arrives.
func blockedWrite(t *testing.T, s [2]*lane.Stream) <-chan error {
	t.Helper()
	failed := make(chan error, 1)
	var writing sync.WaitGroup
	writing.Go(func() {
		_, err := s[0].Write(make([]byte, 64<<20))
		failed <- err
	})
	t.Cleanup(writing.Wait)
	testwait.Until(t, "the Write begins", func() bool { return lane.Writing(s[0]) })
	return failed
}

// TestCloseEndsAWriteThatWaits closes a stream while its Write waits for an
// end that does not read: once with the connection, which ends the Write at
// once, and once alone, which ends it after a while.
func TestCloseEndsAWriteThatWaits(t *testing.T) {
	for name, use := range map[string]path.Use{"QUIC": path.UseNone, "records": path.UseAll} {
		for _, whole := range []bool{true, false} {
			t.Run(name+map[bool]string{true: " with its connection", false: " alone"}[whole], func(t *testing.T) {
				t.Parallel()
				p := newPair(t)
				p.use(use)
				s := p.stream(t)
				failed := blockedWrite(t, s)
				s[0].CancelRead()
				_ = s[0].CloseWrite() // may fail: the Write decides how the stream ends
				if whole {
					ok(t, p.conns[0].CloseWithError(0, ""))
				}
				if err := <-failed; err == nil {
					t.Error("the write succeeded although nobody reads")
				} else if _, err := s[0].Write([]byte("x")); !errors.Is(err, net.ErrClosed) && !whole {
					t.Errorf("a write after the end: %v", err)
				}
			})
		}
	}
}

// TestCloseKeepsWhatWasWritten closes a stream while a Write waits for a
// reader: everything that was written before arrives.
func TestCloseKeepsWhatWasWritten(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	s := p.stream(t)
	first := noise(1, 1, 300<<10)
	_, err := s[0].Write(first)
	ok(t, err)
	failed := blockedWrite(t, s)
	ok(t, s[0].CloseWrite())
	got, _ := io.ReadAll(s[1]) // may fail: the last Write may have arrived in part
	if !bytes.HasPrefix(got, first) {
		t.Errorf("read %d bytes, which do not begin with what was written", len(got))
	}
	<-failed
}
