package relay

import (
	"bytes"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/coder/websocket"
)

// writes records each write.
type writes struct{ all [][]byte }

func (w *writes) Write(p []byte) (int, error) {
	w.all = append(w.all, bytes.Clone(p))
	return len(p), nil
}

// frame returns a frame with a payload of n bytes.
func frame(n int, masked bool) []byte {
	b := []byte{0x82}
	switch {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = append(b, 126, byte(n>>8), byte(n))
	default:
		b = append(b, 127, 0, 0, 0, 0, 0, byte(n>>16), byte(n>>8), byte(n))
	}
	if masked {
		b[1] |= 0x80
		b = append(b, 1, 2, 3, 4)
	}
	return append(b, bytes.Repeat([]byte{byte(n)}, n)...)
}

// TestFramesWhole writes frames in parts of any size: each frame is written at once, and all
// bytes in order.
func TestFramesWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	sizes := []int{0, 1, 125, 126, 4096, MaxMessage, MaxMessage + 1, 70_000}
	for range 300 {
		var all []byte
		var small [][]byte
		long := false
		for range 1 + r.IntN(6) {
			f := frame(sizes[r.IntN(len(sizes))], r.IntN(2) == 0)
			all = append(all, f...)
			small = append(small, f)
			long = long || len(f) > maxCollected
		}
		out := &writes{}
		w := &frameWriter{to: out}
		for rest := all; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(8192))
			if r.IntN(3) == 0 {
				n = min(len(rest), 1+r.IntN(4))
			}
			if k, err := w.Write(rest[:n]); k != n || err != nil {
				t.Fatal(k, err)
			}
			rest = rest[n:]
		}
		if !bytes.Equal(bytes.Join(out.all, nil), all) {
			t.Fatal("the written bytes differ")
		}
		if w.frame != nil || w.missing != 0 || len(w.head) != 0 {
			t.Fatal("the writer kept a part of a frame")
		}
		if !long && len(out.all) != len(small) {
			t.Fatalf("%d writes for %d frames", len(out.all), len(small))
		}
	}
}

// countedListener counts the writes to its connections.
type countedListener struct {
	net.Listener
	mu sync.Mutex
	n  int
}

type countedConn struct {
	net.Conn
	l *countedListener
}

func (l *countedListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &countedConn{c, l}, err
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.l.mu.Lock()
	c.l.n++
	c.l.mu.Unlock()
	return c.Conn.Write(p)
}

// TestFramesOfWebSocket has a real WebSocket echo full messages, and expects one write for
// each.
func TestFramesOfWebSocket(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(ResponseWriter(w), r, nil)
		if err != nil {
			return
		}
		l := WebSocketLink(c)
		for {
			m, err := l.Receive()
			if err != nil {
				return
			}
			_ = l.Send(m.Text, m.Data)
			m.Release()
		}
	}))
	counted := &countedListener{Listener: server.Listener}
	server.Listener = counted
	server.Start()
	defer server.Close()
	c, _, err := websocket.Dial(t.Context(), server.URL, &websocket.DialOptions{HTTPClient: HTTPClient(server.Client())})
	if err != nil {
		t.Fatal(err)
	}
	l := WebSocketLink(c)
	defer l.Close(0, "")
	before := -1
	for range 4 {
		sent := bytes.Repeat([]byte("abcdefg\n"), MaxMessage/8)
		if err := l.Send(false, sent); err != nil {
			t.Fatal(err)
		}
		m, err := l.Receive()
		if err != nil || !bytes.Equal(m.Data, sent) {
			t.Fatal(err, len(m.Data))
		}
		m.Release()
		counted.mu.Lock()
		n := counted.n
		counted.mu.Unlock()
		if before >= 0 && n != before+1 {
			t.Errorf("%d writes for a message", n-before)
		}
		before = n
	}
}

// FuzzFrames checks that arbitrary bytes are written unchanged.
func FuzzFrames(f *testing.F) {
	f.Add(frame(300, true), 7)
	f.Add([]byte{0x82, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5}, 3)
	f.Fuzz(func(t *testing.T, b []byte, step int) {
		out := &writes{}
		w := &frameWriter{to: out}
		if step <= 0 {
			step = 1
		}
		for rest := b; len(rest) > 0; {
			n := min(step, len(rest))
			if _, err := w.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		kept := append([]byte{}, w.head...)
		if w.frame != nil {
			kept = append(kept, w.frame.b...)
		}
		if !bytes.Equal(append(bytes.Join(out.all, nil), kept...), b) {
			t.Fatal("the written bytes differ")
		}
	})
}
