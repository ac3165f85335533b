package tunnel

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder"
)

// The back-off of dialing a link again: after the loss of one that was up it
// is short, for the other side is likely to be there; after a dial that
// failed it grows.
const (
	backoffMin  = 50 * time.Millisecond
	backoffLost = 400 * time.Millisecond
	backoffMax  = 8 * time.Second
	// steady is how long a link lives before its loss begins a new back-off.
	steady = time.Second
	// lingering is how long what waits may take to leave when a path is closed.
	lingering = 200 * time.Millisecond
)

// path is the net.PacketConn that QUIC sends through: packets of one or many
// sessions over one link at a time, which is dialed again whenever it is
// lost. Without a link packets are lost, as on any network.
type path struct {
	relay Relay
	hello string            // the first message on every link
	text  func(text string) // what the relay says, in order
	final func(error) bool  // says which errors end the path
	log   *slog.Logger

	cancel context.CancelFunc
	done   chan struct{} // closed when run has ended
	closed chan struct{} // closed by shut

	mu    sync.Mutex
	shut  bool
	err   error         // why the path ended
	link  Link          // nil without
	out   *Outbox       // of link
	up    chan struct{} // closed when link is there
	peers map[Session]*peer

	// Only the goroutine that calls ReadFrom uses these.
	message *Message
	packets []byte
	from    *peer
}

// newPath begins to dial.
func newPath(relay Relay, hello string, text func(string), final func(error) bool, log *slog.Logger) *path {
	ctx, cancel := context.WithCancel(context.Background())
	p := &path{
		relay: relay, hello: hello, text: text, final: final, log: log, cancel: cancel,
		done: make(chan struct{}), closed: make(chan struct{}), up: make(chan struct{}), peers: make(map[Session]*peer),
	}
	go p.run(ctx)
	return p
}

// run keeps a link until the context ends or an error is final.
func (p *path) run(ctx context.Context) {
	defer close(p.done)
	backoff := backoffMin
	for {
		start := time.Now()
		up, err := p.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if p.final(err) {
			p.end(err)
			return
		}
		switch {
		case up && time.Since(start) > steady:
			backoff = backoffMin
		case up:
			backoff = min(backoff, backoffLost)
		}
		wait := backoff/2 + rand.N(backoff)
		p.log.Debug("lost the link to the relay", "error", err, "again_in", wait)
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		backoff = min(2*backoff, backoffMax)
	}
}

// serve dials a link and uses it until it fails; up says whether there was one.
func (p *path) serve(ctx context.Context) (up bool, err error) {
	dial, cancel := context.WithTimeout(ctx, 30*time.Second)
	link, err := p.relay(dial)
	cancel()
	if err != nil {
		p.failed(err)
		return false, err
	}
	if err := link.Send(true, []byte(p.hello)); err != nil {
		link.Close(0, "")
		p.failed(err)
		return false, err
	}
	out := NewOutbox()
	defer out.Close()
	p.mu.Lock()
	p.link, p.out = link, out
	close(p.up)
	p.mu.Unlock()

	watch, stop := context.WithCancel(ctx)
	defer stop()
	go KeepAlive(watch, link)
	failed := make(chan error, 1)
	go func() { failed <- out.Drain(link) }()
	p.resend(out)
	select {
	case err = <-failed: // also when ReadFrom failed, which closes the outbox
	case <-ctx.Done():
		out.Finish()
		select {
		case err = <-failed:
		case <-time.After(lingering):
		}
	}
	link.Close(0, "")
	return true, p.lost(link, err)
}

// failed notes why there is no link.
func (p *path) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shut {
		p.err = err
	}
}

// lost forgets a link and gives the reason: that of whoever saw it first.
func (p *path) lost(l Link, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == l {
		p.err = err
		p.out.Close()
		p.link, p.out = nil, nil
		p.up = make(chan struct{})
	}
	return p.err
}

// end closes the path for good with a reason.
func (p *path) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shut {
		p.shut, p.err = true, err
		close(p.closed)
	}
}

// reason says why the path ended, nil while it lives.
func (p *path) reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shut {
		return nil
	}
	return p.err
}

// current gives the link, waiting for one; nil once the path has ended.
func (p *path) current() Link {
	for {
		p.mu.Lock()
		link, up := p.link, p.up
		p.mu.Unlock()
		if link != nil {
			return link
		}
		select {
		case <-up:
		case <-p.closed:
			return nil
		}
	}
}

// online says whether a link is there.
func (p *path) online() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link != nil
}

// ReadFrom gives the next packet. It fails only when the path has ended.
func (p *path) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		if packet, rest, ok := nextPacket(p.packets); ok {
			p.packets = rest
			p.from.hold()
			return copy(b, packet), p.from.addr, nil
		}
		if p.message != nil {
			p.message.Release()
			p.message, p.packets = nil, nil
		}
		if err := p.receive(); err != nil {
			return 0, nil, err
		}
	}
}

// receive waits for the next message with packets.
func (p *path) receive() error {
	select {
	case <-p.closed:
		return net.ErrClosed
	default:
	}
	link := p.current()
	if link == nil {
		return net.ErrClosed
	}
	m, err := link.Receive()
	if err != nil {
		_ = p.lost(link, err)
		return nil
	}
	if m.Text {
		p.text(string(m.Data))
		m.Release()
		return nil
	}
	s, packets, err := m.Session()
	if err != nil {
		m.Release()
		return nil
	}
	if p.from == nil || p.from.session != s {
		p.from = p.peer(s)
	}
	p.message, p.packets = m, packets
	return nil
}

// WriteTo sends one packet, waiting while the link is busy.
func (p *path) WriteTo(b []byte, addr net.Addr) (int, error) {
	s, ok := sessionOf(addr)
	if !ok {
		return 0, errors.New("not an address of a tunnel")
	}
	p.peer(s).sent(b)
	p.mu.Lock()
	out, shut := p.out, p.shut
	p.mu.Unlock()
	if shut {
		return 0, net.ErrClosed
	}
	if out != nil {
		out.Packet(s, b)
	}
	return len(b), nil
}

// Close ends the path, giving what waits a moment to leave.
func (p *path) Close() error {
	p.end(net.ErrClosed)
	p.cancel()
	<-p.done
	return nil
}

// LocalAddr is no address; QUIC asks for it in logs only.
func (p *path) LocalAddr() net.Addr { return Session{}.addr() }

// SetDeadline, SetReadDeadline and SetWriteDeadline belong to net.PacketConn.
// quic-go sets a deadline in the past to end its reading when it closes.
func (p *path) SetDeadline(t time.Time) error { return p.SetReadDeadline(t) }

// SetReadDeadline ends the path when t is past.
func (p *path) SetReadDeadline(t time.Time) error {
	if !t.IsZero() && !t.After(time.Now()) {
		p.end(net.ErrClosed)
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.link != nil {
			p.link.Close(0, "")
		}
	}
	return nil
}

// SetWriteDeadline does nothing.
func (p *path) SetWriteDeadline(time.Time) error { return nil }

// SetReadBuffer and SetWriteBuffer do nothing; without them quic-go warns.
func (p *path) SetReadBuffer(int) error { return nil }

// SetWriteBuffer does nothing.
func (p *path) SetWriteBuffer(int) error { return nil }

// finalForClient says which errors end a client's path: the server knows the
// agent or the client no more, or the agent is another one.
func finalForClient(err error) bool {
	switch websocket.CloseStatus(err) {
	case StatusRestarted, StatusRefused:
		return true
	}
	return coder.Is(err, coder.CodeNotFound, coder.CodeForbidden, coder.CodeUnauthenticated)
}

// lastError is why there is no link.
func (p *path) lastError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
