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

// blockedWrite starts a Write of more than any window, which the other end does not read. It
// returns the channel that receives the error of the Write.
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

// TestCloseEndsAWriteThatWaits closes a stream while its Write waits for an end that does not
// read. If the connection closes too, the Write ends at once; otherwise it ends after linger.
func TestCloseEndsAWriteThatWaits(t *testing.T) {
	for name, use := range map[string]path.Use{"QUIC": path.UseNone, "records": path.UseAll} {
		for _, whole := range []bool{true, false} {
			t.Run(name+map[bool]string{true: " with its connection", false: " alone"}[whole], func(t *testing.T) {
				t.Parallel()
				p := newPair(t)
				p.setUse(use)
				s := p.openStream(t)
				failed := blockedWrite(t, s)
				s[0].CancelRead()
				_ = s[0].CloseWrite() // may fail: the Write decides how the stream ends
				if whole {
					ok(t, p.conns[0].CloseWithError(0, ""))
				}
				if err := <-failed; err == nil {
					t.Error("the write succeeded although the other end does not read")
				} else if _, err := s[0].Write([]byte("x")); !errors.Is(err, net.ErrClosed) && !whole {
					t.Errorf("a write after the end: %v", err)
				}
			})
		}
	}
}

// TestCloseKeepsWhatWasWritten closes a stream while a Write waits for a reader. All data
// written before that Write arrives.
func TestCloseKeepsWhatWasWritten(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	s := p.openStream(t)
	first := noise(1, 1, 300<<10)
	_, err := s[0].Write(first)
	ok(t, err)
	failed := blockedWrite(t, s)
	ok(t, s[0].CloseWrite())
	got, _ := io.ReadAll(s[1]) // may fail: the last Write may have arrived in part
	if !bytes.HasPrefix(got, first) {
		t.Errorf("read %d bytes, which do not begin with the written data", len(got))
	}
	<-failed
}
