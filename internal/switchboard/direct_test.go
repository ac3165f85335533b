package switchboard_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"io"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// directWorld is a world whose ends may use UDP.
func directWorld(t testing.TB) *world {
	w := newWorld(t)
	w.direct = tunnel.Direct{}
	return w
}

// goesDirectly waits until a tunnel has a direct path.
func goesDirectly(t testing.TB, c *tunnel.Conn) {
	t.Helper()
	for start := time.Now(); c.Path() != tunnel.RouteDirect; {
		if time.Since(start) > testwait.Limit {
			t.Fatalf("no direct path: %+v", c.Route())
		}
		_, err := c.Ping(t.Context())
		ok(t, err)
	}
}

// TestDirect has a tunnel find the direct path, and go on without the relay.
func TestDirect(t *testing.T) {
	w := directWorld(t)
	w.listen()
	c := w.dial(tunnel.KindSSH)
	goesDirectly(t, c)
	s, err := c.Open(t.Context(), tunnel.KindSSH, "")
	ok(t, err)
	route := c.Route()
	if route.Why != "" || !route.Addr.IsValid() || route.DirectRTT <= 0 {
		t.Errorf("route: %+v", route)
	}
	ok(t, w.board.Stop(t.Context()))
	sent := make([]byte, 4<<20)
	_, _ = rand.Read(sent)
	go func() {
		_, _ = s.Write(sent)
		_ = s.CloseWrite()
	}()
	got := sha256.New()
	_, err = io.Copy(got, s)
	ok(t, err)
	if want := sha256.Sum256(sent); !bytes.Equal(want[:], got.Sum(nil)) {
		t.Error("other bytes came than went")
	}
}

// TestDirectForbidden wants the reason.
func TestDirectForbidden(t *testing.T) {
	w := directWorld(t)
	w.listen(func(c *tunnel.ListenConfig) { c.Direct.Disabled = "forbidden" })
	c := w.dial(tunnel.KindSSH)
	for start := time.Now(); c.Route().Why != "the agent's side does not allow direct connections"; {
		if time.Since(start) > testwait.Limit {
			t.Fatalf("route: %+v", c.Route())
		}
		_, err := c.Ping(t.Context())
		ok(t, err)
	}
	w.direct.Disabled = "not from here"
	if route := w.dial(tunnel.KindSSH).Route(); route.Name != tunnel.RouteRelay || route.Why != "not from here" {
		t.Errorf("route: %+v", route)
	}
}

// BenchmarkDirect is BenchmarkUp, BenchmarkDown and BenchmarkEcho over UDP.
func BenchmarkDirect(b *testing.B) {
	for _, route := range []string{"sink", "source"} {
		b.Run(map[string]string{"sink": "up", "source": "down"}[route], func(b *testing.B) {
			w, c := benchIn(b, directWorld(b))
			goesDirectly(b, c)
			streams(b, w, c, route)
			if name := c.Path(); name != tunnel.RouteDirect {
				b.Errorf("ended with %q", name)
			}
		})
	}
	b.Run("echo", func(b *testing.B) {
		_, c := benchIn(b, directWorld(b))
		goesDirectly(b, c)
		echoes(b, c)
	})
}
