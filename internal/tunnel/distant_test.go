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

// addDistance sets the round trip of the direct path to 20 ms, longer than through the relay. Its
// delay first varies, so that windows stop doubling.
func addDistance(n *memNetwork) {
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

// echoBytes sends n bytes to the agent and back and returns the time that took.
func echoBytes(t *testing.T, c *Conn, n int64, seed uint64) time.Duration {
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
		t.Fatalf("%d of %d bytes came back, or with wrong content: %v", back, n, err)
	}
	return time.Since(start)
}

// TestWindowBeginsAnew copies in both directions at once over a distant path whose delay
// varies at first. The copy would take three times as long if windows grew only by a packet
// per round trip from then on.
func TestWindowBeginsAnew(t *testing.T) {
	testWindow(t, 16<<20)
}

func testWindow(t *testing.T, size int64) {
	synctest.Test(t, func(t *testing.T) {
		n, c := newTunnel(t, nil)
		addDistance(n)
		waitDirect(t, c, 5*time.Second)
		if took := echoBytes(t, c, size, 1); took > 4*time.Second {
			t.Errorf("took %v, window %d, lost %d", took, c.Stats().Window, c.Stats().LostPackets)
		}
	})
}

// TestLossesOverADistance loses one of a thousand packets at random. The copy would take about
// 22 seconds if each loss cut the window by a third and the window then grew by a packet per
// round trip.
func TestLossesOverADistance(t *testing.T) {
	testLosses(t, 16<<20)
}

func testLosses(t *testing.T, size int64) {
	synctest.Test(t, func(t *testing.T) {
		n, c := newTunnel(t, nil)
		addDistance(n)
		waitDirect(t, c, 5*time.Second)
		r := rand.New(rand.NewPCG(1, 2))
		n.setLoss(func(netip.AddrPort, int) bool { return r.IntN(1000) == 0 })
		if took := echoBytes(t, c, size, 2); took > 16*time.Second {
			t.Errorf("took %v, window %d, lost %d", took, c.Stats().Window, c.Stats().LostPackets)
		}
	})
}
