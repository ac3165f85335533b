package relay

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

func session(b byte) (s Session) {
	s[0] = b
	return s
}

// TestOutboxTurns checks that bulk data delays another session by only one message.
func TestOutboxTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := NewOutbox()
		bulk, typing := session(1), session(2)
		sent := make(chan int, 1)
		go func() {
			n := 0
			for o.Packet(bulk, make([]byte, 1000)) {
				n++
			}
			sent <- n
		}()
		synctest.Wait() // bulk waits for space
		if !o.Packet(typing, []byte("a key")) {
			t.Fatal("closed")
		}
		m := o.Take()
		if s, p, err := m.Session(); err != nil || s != bulk || len(p) != 32*1002 {
			t.Fatalf("first: %v %d %v", s, len(p), err)
		}
		m.Release()
		synctest.Wait() // bulk waits again, behind typing
		m = o.Take()
		if s, p, err := m.Session(); err != nil || s != typing || !bytes.Equal(p, []byte("\x00\x05a key")) {
			t.Fatalf("second: %v %q %v", s, p, err)
		}
		m.Release()
		o.Close()
		if n := <-sent; n != 64 {
			t.Errorf("%d packets were accepted, not two messages of 32", n)
		}
		if o.Packet(typing, []byte("x")) || o.Take() != nil {
			t.Error("a closed outbox accepts or returns messages")
		}
	})
}

// TestOutboxDrops checks when a sender that cannot wait loses packets: not in a burst, but
// when the link has been too slow for dropAge, or by far.
func TestOutboxDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := NewOutbox()
		s := session(1)
		p := make([]byte, 20<<10)
		for range 20 {
			if !o.Offer(s, p) {
				t.Fatal("a burst was dropped")
			}
		}
		time.Sleep(dropAge + time.Millisecond)
		if o.Offer(s, p) {
			t.Error("a queue older than dropAge accepted a packet")
		}
		if o.Dropped() != int64(len(p)) {
			t.Errorf("dropped %d", o.Dropped())
		}
		for range 16 {
			o.Take().Release()
		}
		if !o.Offer(s, p) {
			t.Error("a short queue dropped a packet")
		}
		fast := NewOutbox()
		n := 0
		for fast.Offer(s, p) {
			n += len(p)
		}
		if n > dropMax+MaxMessage+len(p) {
			t.Errorf("%d bytes are waiting", n)
		}
	})
}

// TestOutboxFinish checks that Finish sends the waiting messages first.
func TestOutboxFinish(t *testing.T) {
	o := NewOutbox()
	o.Text("bye")
	o.Finish()
	a, b := LinkPipe()
	if err := o.Drain(a); err != nil {
		t.Fatal(err)
	}
	m, err := b.Receive()
	if err != nil || !m.Text || string(m.Data) != "bye" {
		t.Fatalf("%+v %v", m, err)
	}
}

// stuckLink blocks in Send until it is closed.
type stuckLink struct {
	Link
	closed chan struct{}
	sent   chan string
}

func (l stuckLink) Send(_ bool, p []byte) error {
	l.sent <- string(p[len(Session{}):])
	<-l.closed
	return net.ErrClosed
}

func (l stuckLink) Close(websocket.StatusCode, string) { close(l.closed) }

// TestOutboxStuck closes an outbox while a caller sends its own packets. Close must end the
// link, so that the caller returns.
func TestOutboxStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := NewOutbox()
		l := stuckLink{closed: make(chan struct{}), sent: make(chan string, 2)}
		drained := make(chan error, 1)
		go func() { drained <- o.Drain(l) }()
		synctest.Wait()
		took := make(chan bool, 2)
		for _, p := range []string{"first", "second"} {
			go func() { took <- o.Packet(session(p[0]), []byte(p)) }()
			synctest.Wait()
		}
		if s := <-l.sent; s != "\x00\x05first" || len(l.sent) > 0 || len(took) != 1 || !<-took {
			t.Fatalf("%q is sent, and %d more; the second sender may not wait", s, len(l.sent))
		}
		o.Close()
		if <-took {
			t.Error("Packet succeeded for a packet that was not sent")
		}
		<-drained
	})
}

// TestOutboxOneByOne has many concurrent senders, some of which send their own packets. Each
// session's packets must arrive once and in order.
func TestOutboxOneByOne(t *testing.T) {
	a, b := LinkPipe()
	o := NewOutbox()
	go o.Drain(a) //nolint:errcheck // it ends with the link
	const senders, packets = 8, 500
	for s := range senders {
		go func() {
			for i := range packets {
				o.Packet(session(byte(s)), binary.BigEndian.AppendUint32(nil, uint32(i)))
			}
		}()
	}
	next := map[Session]uint32{}
	for n := 0; n < senders*packets; {
		m, err := b.Receive()
		if err != nil {
			t.Fatal(err)
		}
		s, rest, err := m.Session()
		if err != nil {
			t.Fatal(err)
		}
		for {
			p, after, ok := NextPacket(rest)
			if rest = after; !ok {
				break
			}
			if got := binary.BigEndian.Uint32(p); got != next[s] {
				t.Fatalf("received %d, not %d", got, next[s])
			}
			next[s]++
			n++
		}
		m.Release()
	}
	o.Close()
}
