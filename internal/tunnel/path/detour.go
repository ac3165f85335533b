package path

import (
	"net"
	"sync/atomic"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// Detour is a link to another relay than the path's own: that of a workspace proxy. The
// client of a session decides by which link its packets travel, and the agent answers by
// the link that the client's last packets came by. The link to the server stays. When
// a detour ends, its sessions continue there at once. It is safe for concurrent use.
type Detour struct {
	p     *Path
	up    *relay.Uplink
	gone  atomic.Bool
	ended chan struct{}
}

// Detour starts to use a link that was just dialed. hello is the first message on it and
// bye the last; text receives the relay's texts in order. The error means that the link
// failed or the path was closed.
func (p *Path) Detour(l relay.Link, hello, bye string, text func(string)) (*Detour, error) {
	d := &Detour{p: p, up: relay.NewUplink(l), ended: make(chan struct{})}
	err := l.Send(true, []byte(hello))
	p.mu.Lock()
	if p.shut && err == nil {
		err = net.ErrClosed
	}
	if err != nil {
		p.mu.Unlock()
		l.Close(0, "")
		return nil, err
	}
	p.detours.Add(1)
	p.mu.Unlock()
	go func() {
		defer p.detours.Done()
		d.up.Run(p.ended, bye, func(m *relay.Message, wait bool) bool {
			if !m.Text {
				return p.packets(m, d, wait)
			}
			text(string(m.Data))
			m.Release()
			return true
		})
		d.gone.Store(true)
		p.abandon(d)
		close(d.ended)
	}()
	return d, nil
}

// Use sends the packets of a session by the detour from now on.
func (d *Detour) Use(s relay.Session) {
	e := d.p.peer(s)
	e.detour.Store(d)
	if d.gone.Load() {
		d.p.abandon(d)
	}
	e.resend(d.up.Out) // so that the agent follows
}

// Close ends the detour without waiting for it.
func (d *Detour) Close() {
	d.gone.Store(true)
	d.p.abandon(d)
	d.up.Close()
}

// Ended is closed when the detour has ended.
func (d *Detour) Ended() <-chan struct{} { return d.ended }

// Gone reports whether the detour has ended, or is about to.
func (d *Detour) Gone() bool { return d.gone.Load() }

// abandon has the sessions of a detour continue through the path's own relay, which
// gets again what may be lost.
func (p *Path) abandon(d *Detour) {
	p.mu.Lock()
	var left []relay.Session
	for s, e := range p.peers {
		if e.detour.CompareAndSwap(d, nil) {
			left = append(left, s)
		}
	}
	p.mu.Unlock()
	for _, s := range left {
		p.Returned(s)
	}
}

// outbox returns the outbox of the link by which a peer's relayed packets travel now;
// nil without a link. shut reports that the path has ended.
func (p *Path) outbox(e *Peer) (out *relay.Outbox, shut bool) {
	p.mu.Lock()
	out, shut = p.out, p.shut
	p.mu.Unlock()
	if d := e.detour.Load(); d != nil && !d.gone.Load() {
		out = d.up.Out
	}
	return out, shut
}

// follow has an agent answer by the link that the client uses: via, or the path's own
// for nil. A client that comes back from a detour may have lost what was sent there.
func (e *Peer) follow(via *Detour) {
	old := e.detour.Load()
	if old == via || !e.detour.CompareAndSwap(old, via) {
		return
	}
	e.growth.moved.Store(true)
	if via == nil {
		e.recordsChanged()
	}
}
