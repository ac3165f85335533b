package path

import (
	"testing"
	"testing/synctest"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// TestResendingDoesNotHoldUpSending has a link block while the last packets of a session are sent
// again over it. New packets, which may take another path, do not wait for it.
func TestResendingDoesNotHoldUpSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, _ := relay.LinkPipe()
		defer mine.Close(0, "")
		for range 16 { // as many as the pipe takes without a receiver
			if err := mine.Send(false, []byte{0}); err != nil {
				t.Fatal(err)
			}
		}
		out := relay.NewOutbox()
		defer out.Close()
		go out.Drain(mine) //nolint:errcheck // it ends with the outbox
		synctest.Wait()
		e := &Peer{progress: make(chan struct{}, 1)}
		e.rememberSent(make([]byte, 100), 100)
		resent := make(chan struct{})
		go func() {
			defer close(resent)
			e.resendRecent(out)
		}()
		synctest.Wait()
		select {
		case <-resent:
			t.Fatal("the link did not block")
		default:
		}
		if !e.mu.TryLock() {
			t.Fatal("packets wait for the link")
		}
		e.mu.Unlock()
	})
}
