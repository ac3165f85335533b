package lane

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

// Stream is a stream that QUIC and records carry together. It is safe for concurrent
// use as a net.Conn is.
type Stream struct {
	q   *quic.Stream
	out outlet // of q
	l   *Lane  // nil: QUIC alone carries it

	send sender
	recv receiver

	mu             sync.Mutex
	sent, received bool // a direction has ended
}

func (s *Stream) init() {
	s.recv.init(s)
	s.send.init(s)
}

// ended notes the end of a direction.
func (s *Stream) ended(direction *bool) {
	s.mu.Lock()
	*direction = true
	both := s.sent && s.received
	s.mu.Unlock()
	if both {
		s.l.forget(s)
	}
}

// StreamID is QUIC's.
func (s *Stream) StreamID() quic.StreamID { return s.q.StreamID() }

// Context ends when nothing more can be written; its cause is a quic.StreamError
// when the other side stopped reading.
func (s *Stream) Context() context.Context { return s.q.Context() }

// Read is part of io.Reader.
func (s *Stream) Read(p []byte) (int, error) {
	if s.l == nil {
		return s.q.Read(p)
	}
	return s.recv.read(p)
}

// Write is part of io.Writer.
func (s *Stream) Write(p []byte) (int, error) {
	if s.l == nil || len(p) == 0 {
		return s.out.Write(p)
	}
	return s.send.write(p)
}

// CloseWrite reports that no more is written; the other side reads io.EOF.
func (s *Stream) CloseWrite() error {
	if s.l == nil {
		return s.out.Close()
	}
	return s.send.close()
}

// CancelRead reports that no more is read.
func (s *Stream) CancelRead() {
	s.q.CancelRead(0)
	if s.l != nil {
		s.recv.fail(net.ErrClosed, true)
	}
}

// CancelWrite drops what was written and has not arrived.
func (s *Stream) CancelWrite() {
	s.q.CancelWrite(0)
	if s.l != nil {
		s.send.cancel()
	}
}

// SetDeadline is part of net.Conn.
func (s *Stream) SetDeadline(t time.Time) error {
	if err := s.SetReadDeadline(t); err != nil {
		return err
	}
	return s.SetWriteDeadline(t)
}

// SetReadDeadline is part of net.Conn.
func (s *Stream) SetReadDeadline(t time.Time) error {
	if s.l == nil {
		return s.q.SetReadDeadline(t)
	}
	s.recv.mu.Lock()
	defer s.recv.mu.Unlock()
	s.recv.late.set(t, s.recv.wake)
	return nil
}

// SetWriteDeadline is part of net.Conn.
func (s *Stream) SetWriteDeadline(t time.Time) error {
	if err := s.q.SetWriteDeadline(t); err != nil || s.l == nil {
		return err
	}
	s.send.mu.Lock()
	defer s.send.mu.Unlock()
	s.send.late.set(t, s.send.wake)
	return nil
}

// deadline wakes those who wait when a time has come. It is guarded by what guards
// their waiting.
type deadline struct {
	at    time.Time
	timer *time.Timer
}

func (d *deadline) set(t time.Time, wake func()) {
	d.at = t
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	if !t.IsZero() {
		d.timer = time.AfterFunc(max(0, time.Until(t)), wake)
	}
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }
