package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// faultyNetwork is a network between a client and the server that can fail. In the
// state cut, connections are refused and reset. In the state hole, no data arrives.
// After a hole, data continues to arrive, or open connections stay silent, as after the
// restart of a router.
type faultyNetwork struct {
	net.Listener
	to string

	delay  atomic.Int64 // delay of each chunk of data, in nanoseconds
	passed atomic.Int64 // bytes

	mu    sync.Mutex
	state string // up, cut or hole
	open  map[*networkConn]struct{}
	move  chan struct{} // closed when state changes
}

// networkConn is a connection through a faultyNetwork.
type networkConn struct {
	in, out net.Conn
	lost    atomic.Bool // no data arrives on this connection again
}

func newFaultyNetwork(t *testing.T, to string) *faultyNetwork {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &faultyNetwork{Listener: l, to: to, state: "up", open: map[*networkConn]struct{}{}, move: make(chan struct{})}
	t.Cleanup(func() { l.Close(); w.set("cut") })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go w.join(in)
		}
	}()
	return w
}

func (w *faultyNetwork) url() string { return "http://" + w.Addr().String() }

// waitPassable waits until data of a connection can pass. It returns false if the
// connection is cut.
func (w *faultyNetwork) waitPassable(s *networkConn) bool {
	for {
		w.mu.Lock()
		state, move := w.state, w.move
		w.mu.Unlock()
		switch {
		case state == "cut":
			return false
		case state == "up" && !s.lost.Load():
			return true
		}
		<-move
	}
}

func (w *faultyNetwork) join(in net.Conn) {
	s := &networkConn{in: in}
	defer in.Close()
	w.mu.Lock()
	w.open[s] = struct{}{}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.open, s)
		w.mu.Unlock()
	}()
	if !w.waitPassable(s) {
		return
	}
	out, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer out.Close()
	w.mu.Lock()
	s.out = out
	w.mu.Unlock()
	carry := func(to, from net.Conn) {
		defer to.Close()
		b := make([]byte, 32<<10)
		for {
			n, err := from.Read(b)
			if !w.waitPassable(s) {
				return
			}
			if n > 0 {
				testwait.Pause(time.Duration(w.delay.Load()))
				w.passed.Add(int64(n))
				if _, err := to.Write(b[:n]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
	go carry(out, in)
	carry(in, out)
}

// set changes the state. With forget, no data arrives on the open connections again.
func (w *faultyNetwork) set(state string, forget ...bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state = state
	close(w.move)
	w.move = make(chan struct{})
	for s := range w.open {
		if len(forget) > 0 && forget[0] {
			s.lost.Store(true)
		}
		if state == "cut" {
			s.in.Close()
			if s.out != nil {
				s.out.Close()
			}
		}
	}
}

// talker writes numbered lines to a program that echoes them. It checks that each line
// comes back once and in order.
type talker struct {
	name      string
	in        io.WriteCloser
	sent, got atomic.Int64
	stop      chan struct{}
	typed     chan struct{} // closed after the last line was written
	read      chan error    // receives the error that ended reading; nil at EOF
}

func talk(name string, in io.WriteCloser, out io.Reader) *talker {
	k := &talker{name: name, in: in, stop: make(chan struct{}), typed: make(chan struct{}), read: make(chan error, 1)}
	go func() {
		defer close(k.typed)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-k.stop:
				return
			case <-tick.C:
			}
			if _, err := fmt.Fprintf(in, "%d\n", k.sent.Load()+1); err != nil {
				return
			}
			k.sent.Add(1)
		}
	}()
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if text, want := strings.TrimSpace(lines.Text()), strconv.FormatInt(k.got.Load()+1, 10); text != want {
				k.read <- fmt.Errorf("received line %q, want %q", text, want)
				return
			}
			k.got.Add(1)
		}
		k.read <- lines.Err()
	}()
	return k
}

// waitForEcho waits until the next line that the talker writes comes back.
func (k *talker) waitForEcho(t *testing.T, after string) {
	t.Helper()
	start, next := time.Now(), k.sent.Load()+1
	for k.got.Load() < next {
		select {
		case err := <-k.read:
			t.Fatalf("after %s: %s ended: %v", after, k.name, err)
		default:
		}
		if time.Since(start) > testwait.Limit {
			t.Fatalf("after %s: %s has no echo: %d lines of %d came back", after, k.name, k.got.Load(), k.sent.Load())
		}
		testwait.Pause(5 * time.Millisecond)
	}
	t.Logf("after %s: %s has an echo after %s", after, k.name, time.Since(start).Round(time.Millisecond))
}

// checkAllEchoed stops writing and checks that all lines come back.
func (k *talker) checkAllEchoed(t *testing.T) {
	t.Helper()
	close(k.stop)
	<-k.typed
	k.in.Close()
	select {
	case err := <-k.read:
		if err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
	case <-time.After(testwait.Limit):
		t.Errorf("%s does not end", k.name)
	}
	if k.got.Load() != k.sent.Load() || k.got.Load() == 0 {
		t.Errorf("%s: %d lines of %d came back", k.name, k.got.Load(), k.sent.Load())
	}
}
