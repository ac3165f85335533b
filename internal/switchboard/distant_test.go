package switchboard_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// distant puts a way of d in each direction before addr, without loss and
// with room for what a fast network has under way, and gives its address.
func distant(t testing.TB, addr string, d time.Duration) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", addr)
			if err != nil {
				near.Close()
				return
			}
			go carry(far, near, d)
			go carry(near, far, d)
		}
	}()
	return l.Addr().String()
}

// carry copies what comes, each piece after d.
func carry(to, from net.Conn, d time.Duration) {
	type piece struct {
		b  []byte
		at time.Time
	}
	way := make(chan piece, 4096)
	go func() {
		defer close(way)
		for {
			b := make([]byte, 16<<10)
			n, err := from.Read(b)
			if err != nil {
				return
			}
			way <- piece{b[:n], time.Now().Add(d)}
		}
	}()
	defer to.Close()
	defer from.Close()
	for p := range way {
		testwait.Pause(time.Until(p.at)) // the distance itself
		if _, err := to.Write(p.b); err != nil {
			return
		}
	}
}

// BenchmarkDistant is a transfer over 40 ms there and back, the start with its
// small windows included, and typing beside it.
func BenchmarkDistant(b *testing.B) {
	for _, way := range []string{"sink", "source"} {
		b.Run(map[string]string{"sink": "up", "source": "down"}[way], func(b *testing.B) {
			w, c0 := bench(b)
			_ = c0.Close()
			near := w.url
			w.url = "http://" + distant(b, strings.TrimPrefix(near, "http://"), 20*time.Millisecond)
			c := w.dial(tunnel.KindSSH, tunnel.KindTCP)
			s, err := c.Open(b.Context(), tunnel.KindTCP, way)
			ok(b, err)
			p := make([]byte, block)
			b.SetBytes(block)
			for b.Loop() {
				if way == "sink" {
					_, err = s.Write(p)
				} else {
					_, err = io.ReadFull(s, p)
				}
				ok(b, err)
			}
			b.StopTimer()
			if way == "source" {
				go func() { _, _ = io.Copy(io.Discard, s) }()
			}
			var worst time.Duration
			for range 20 {
				took, err := c.Ping(b.Context())
				ok(b, err)
				worst = max(worst, took)
			}
			b.ReportMetric(float64(c.Stats().LostPackets), "lost-up")
			b.ReportMetric(float64(w.agent.Stats().LostPackets), "lost-down")
			b.ReportMetric(float64(worst.Milliseconds()), "worst-ping-ms")
		})
	}
}
