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

// way is a network between a client and the server, which can fail as networks
// do: connections are refused and reset; or nothing arrives, and when
// that is over either what was held up goes on, or what was open is forgotten,
// as by a router that was restarted.
type way struct {
	net.Listener
	to string

	delay  atomic.Int64 // nanoseconds that each piece waits
	passed atomic.Int64 // bytes

	mu    sync.Mutex
	state string // up, cut or hole
	open  map[*span]struct{}
	move  chan struct{} // closed when state changes
}

// span is one connection.
type span struct {
	in, out net.Conn
	lost    atomic.Bool // forgotten: silent forever
}

func newWay(t *testing.T, to string) *way {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &way{Listener: l, to: to, state: "up", open: map[*span]struct{}{}, move: make(chan struct{})}
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

func (w *way) url() string { return "http://" + w.Addr().String() }

// passes waits until bytes of a connection may pass; false at its end.
func (w *way) passes(s *span) bool {
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

func (w *way) join(in net.Conn) {
	s := &span{in: in}
	defer in.Close()
	w.mu.Lock()
	w.open[s] = struct{}{}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.open, s)
		w.mu.Unlock()
	}()
	if !w.passes(s) {
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
			if !w.passes(s) {
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

// set changes the state. After a hole, what was open is forgotten if forget.
func (w *way) set(state string, forget ...bool) {
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

// talker types numbered lines into something that gives them back, and wants
// each back once and in order.
type talker struct {
	name      string
	in        io.WriteCloser
	sent, got atomic.Int64
	stop      chan struct{}
	typed     chan struct{} // closed when no more is typed
	read      chan error    // how the reading ended
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
				k.read <- fmt.Errorf("line %q came, not %q", text, want)
				return
			}
			k.got.Add(1)
		}
		k.read <- lines.Err()
	}()
	return k
}

// flows waits until something that is typed from now on comes back.
func (k *talker) flows(t *testing.T, after string) {
	t.Helper()
	start, next := time.Now(), k.sent.Load()+1
	for k.got.Load() < next {
		select {
		case err := <-k.read:
			t.Fatalf("after %s: %s ended: %v", after, k.name, err)
		default:
		}
		if time.Since(start) > testwait.Limit {
			t.Fatalf("after %s: %s does not flow again: %d lines of %d are back", after, k.name, k.got.Load(), k.sent.Load())
		}
		testwait.Pause(5 * time.Millisecond)
	}
	t.Logf("after %s: %s flows after %s", after, k.name, time.Since(start).Round(time.Millisecond))
}

// ends types no more and wants all back.
func (k *talker) ends(t *testing.T) {
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
