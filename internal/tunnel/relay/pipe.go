package relay

import (
	"context"
	"net"
	"sync"

	"github.com/coder/websocket"
)

// LinkPipe returns the two ends of a link in memory, for a relay that is itself an end, and
// for tests.
func LinkPipe() (Link, Link) {
	a, b := newPipeDirection(), newPipeDirection()
	end := &pipeEnd{closed: make(chan struct{})}
	return &pipeLink{in: a, out: b, pipeEnd: end}, &pipeLink{in: b, out: a, pipeEnd: end}
}

// pipeEnd is the shared closed state of both ends of a pipe.
type pipeEnd struct {
	once   sync.Once
	err    error
	closed chan struct{}
}

// pipeDirection is one direction of a pipe. Messages wait in queue until the receiver calls
// Each. From then on the sender passes them to take.
type pipeDirection struct {
	queue chan *Message

	mu   sync.Mutex // serializes senders
	take Take       // nil before Each
}

func newPipeDirection() *pipeDirection { return &pipeDirection{queue: make(chan *Message, 16)} }

type pipeLink struct {
	in, out *pipeDirection
	*pipeEnd
}

func (l *pipeLink) Send(text bool, p []byte) error {
	m := newMessage()
	m.Text = text
	m.Data = append(m.Data, p...)
	l.out.mu.Lock()
	defer l.out.mu.Unlock()
	select {
	case <-l.closed:
		m.Release()
		return net.ErrClosed
	default:
	}
	if l.out.take != nil {
		l.out.take(m, true)
		return nil
	}
	select {
	case l.out.queue <- m:
		return nil
	case <-l.closed:
		m.Release()
		return net.ErrClosed
	}
}

// try implements trier.
func (l *pipeLink) try(m *Message) bool {
	if !l.out.mu.TryLock() {
		return false
	}
	defer l.out.mu.Unlock()
	return l.out.take != nil && l.out.take(m, false)
}

// Each implements the function Each.
func (l *pipeLink) Each(take Take) error {
	locked := make(chan struct{})
	go func() { // a sender that holds the mutex may wait for space in the queue
		l.in.mu.Lock()
		close(locked)
	}()
	for waiting := true; waiting; {
		select {
		case m := <-l.in.queue:
			take(m, true)
		case <-locked:
			waiting = false
		}
	}
	for len(l.in.queue) > 0 {
		take(<-l.in.queue, true)
	}
	l.in.take = take
	l.in.mu.Unlock()
	<-l.closed
	return l.err
}

func (l *pipeLink) Receive() (*Message, error) {
	select {
	case m := <-l.in.queue:
		return m, nil
	case <-l.closed:
		return nil, l.err
	}
}

func (l *pipeLink) Ping(context.Context) error { return nil }

func (l *pipeLink) Close(code websocket.StatusCode, reason string) {
	l.once.Do(func() {
		l.err = net.ErrClosed
		if code != 0 {
			l.err = websocket.CloseError{Code: code, Reason: reason}
		}
		close(l.closed)
	})
}
