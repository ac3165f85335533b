package lane

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
)

// Stream is a stream that QUIC and records carry together. It is safe for concurrent use as a
// net.Conn is.
type Stream struct {
	q   *quic.Stream
	out outlet // writes to q
	l   *Lane  // nil if QUIC alone carries the stream

	send sender
	recv receiver

	mu                      sync.Mutex
	sendEnded, receiveEnded bool // the direction has ended
}

func (s *Stream) init() {
	s.recv.init(s)
	s.send.init(s)
}

// markEnded notes that a direction has ended, and removes the stream when both have.
func (s *Stream) markEnded(direction *bool) {
	s.mu.Lock()
	*direction = true
	both := s.sendEnded && s.receiveEnded
	s.mu.Unlock()
	if both {
		s.l.removeStream(s)
	}
}

// StreamID returns the ID of the QUIC stream.
func (s *Stream) StreamID() quic.StreamID { return s.q.StreamID() }

// Context returns a context that ends when nothing more can be written. Its cause is a
// quic.StreamError if the other side stopped reading.
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

// CloseWrite ends the writing; the other side reads io.EOF.
func (s *Stream) CloseWrite() error {
	if s.l == nil {
		return s.out.Close()
	}
	return s.send.closeWrite()
}

// CancelRead ends the reading.
func (s *Stream) CancelRead() {
	s.q.CancelRead(0)
	if s.l != nil {
		s.recv.fail(net.ErrClosed, true)
	}
}

// CancelWrite ends the writing and drops written data that has not arrived.
func (s *Stream) CancelWrite() {
	s.q.CancelWrite(0)
	if s.l != nil {
		s.send.cancelWrite()
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
	s.recv.deadline.set(t, s.recv.wakeReader)
	return nil
}

// SetWriteDeadline is part of net.Conn.
func (s *Stream) SetWriteDeadline(t time.Time) error {
	if err := s.q.SetWriteDeadline(t); err != nil || s.l == nil {
		return err
	}
	s.send.mu.Lock()
	defer s.send.mu.Unlock()
	s.send.deadline.set(t, s.send.wakeWriters)
	return nil
}

// deadline wakes waiting callers at a time. The mutex of the waiting callers guards it.
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
