package tunnel

import (
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// far makes the direct path of a flight one of 20 ms there and back, longer than the
// one through the relay, of which the first moments are unsteady: windows stop to
// double.
func far(n *air) {
	n.mu.Lock()
	n.delay = 10 * time.Millisecond
	n.mu.Unlock()
	go func() {
		for range 40 {
			time.Sleep(10 * time.Millisecond)
			n.mu.Lock()
			n.delay = 28*time.Millisecond - n.delay
			n.mu.Unlock()
		}
	}()
}

// echoed sends n bytes there and back and gives the time that took.
func echoed(t *testing.T, c *Conn, n int64, seed uint64) time.Duration {
	t.Helper()
	s, err := c.Open(t.Context(), KindSSH, "")
	must(t, err)
	sent, got := sha256.New(), sha256.New()
	start := time.Now()
	go func() {
		from := io.LimitReader(rand.NewChaCha8([32]byte{byte(seed)}), n)
		_, _ = io.Copy(io.MultiWriter(s, sent), from)
		_ = s.CloseWrite()
	}()
	back, err := io.Copy(got, s)
	if err != nil || back != n || string(got.Sum(nil)) != string(sent.Sum(nil)) {
		t.Fatalf("%d of %d bytes came back, %v, or others", back, n, err)
	}
	return time.Since(start)
}

// TestWindowBeginsAnew copies both ways at once over a distance whose begin is
// unsteady. Windows that grow by a packet with each round trip from there on would
// take three times as long.
func TestWindowBeginsAnew(t *testing.T) {
	testWindow(t, 16<<20)
}

func testWindow(t *testing.T, size int64) {
	synctest.Test(t, func(t *testing.T) {
		n, c := flight(t, nil)
		far(n)
		direct(t, c, 5*time.Second)
		if took := echoed(t, c, size, 1); took > 4*time.Second {
			t.Errorf("took %v, window %d, lost %d", took, c.Stats().Window, c.Stats().LostPackets)
		}
	})
}

// TestLossesOverADistance loses one of a thousand packets by chance. With windows
// that each of them cuts by a third, and that grow by a packet with each round trip,
// that takes some 22 seconds.
func TestLossesOverADistance(t *testing.T) {
	losses(t, 16<<20)
}

func losses(t *testing.T, size int64) {
	synctest.Test(t, func(t *testing.T) {
		n, c := flight(t, nil)
		far(n)
		direct(t, c, 5*time.Second)
		r := rand.New(rand.NewPCG(1, 2))
		n.lose(func(netip.AddrPort, int) bool { return r.IntN(1000) == 0 })
		if took := echoed(t, c, size, 2); took > 16*time.Second {
			t.Errorf("took %v, window %d, lost %d", took, c.Stats().Window, c.Stats().LostPackets)
		}
	})
}
