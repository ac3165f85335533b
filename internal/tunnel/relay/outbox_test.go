package relay

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func session(b byte) (s Session) {
	s[0] = b
	return s
}

// TestOutboxTurns shows that bulk delays another session by one message.
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
		synctest.Wait() // bulk waits for room
		if !o.Packet(typing, []byte("a key")) {
			t.Fatal("closed")
		}
		m := o.Take()
		if s, p, err := m.Session(); err != nil || s != bulk || len(p) != 32*1002 {
			t.Fatalf("first: %v %d %v", s, len(p), err)
		}
		m.Release()
		synctest.Wait() // bulk has queued again, behind
		m = o.Take()
		if s, p, err := m.Session(); err != nil || s != typing || !bytes.Equal(p, []byte("\x00\x05a key")) {
			t.Fatalf("second: %v %q %v", s, p, err)
		}
		m.Release()
		o.Close()
		if n := <-sent; n != 64 {
			t.Errorf("%d packets were taken, not two messages of 32", n)
		}
		if o.Packet(typing, []byte("x")) || o.Take() != nil {
			t.Error("a closed outbox takes and gives")
		}
	})
}

// TestOutboxDrops shows when a sender that cannot wait loses packets: not in
// a burst, but when the link has not kept up for a while, or by far.
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
			t.Error("an old queue took more")
		}
		if o.Dropped() != int64(len(p)) {
			t.Errorf("dropped %d", o.Dropped())
		}
		for range 16 {
			o.Take().Release()
		}
		if !o.Offer(s, p) {
			t.Error("a short queue dropped")
		}
		fast := NewOutbox()
		n := 0
		for fast.Offer(s, p) {
			n += len(p)
		}
		if n > dropMax+MaxMessage+len(p) {
			t.Errorf("%d bytes wait", n)
		}
	})
}

// TestOutboxFinish sends what waits before the end.
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
