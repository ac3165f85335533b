package path

import (
	"net"
	"sync/atomic"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// Detour is a link to the relay of a workspace proxy, beside the path's own link to the
// server. The client decides which link carries the packets of a session. The agent answers
// over the link that the client's last packets came from. The link to the server stays up:
// when a detour ends, its sessions continue there at once. Detour is safe for concurrent use.
type Detour struct {
	p     *Path
	up    *relay.Uplink
	gone  atomic.Bool
	ended chan struct{}
}

// Detour returns a detour over a link that was just dialed. hello is the first message on
// the link and bye the last; text receives the relay's text messages in order. The error
// means that the link failed or the path was closed.
func (p *Path) Detour(l relay.Link, hello, bye string, text func(string)) (*Detour, error) {
	d := &Detour{p: p, up: relay.NewUplink(l), ended: make(chan struct{})}
	err := l.Send(true, []byte(hello))
	p.mu.Lock()
	if p.isClosed && err == nil {
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
		d.up.Run(p.ctx, bye, func(m *relay.Message, wait bool) bool {
			if !m.Text {
				return p.receivePackets(m, d, wait)
			}
			text(string(m.Data))
			m.Release()
			return true
		})
		d.gone.Store(true)
		p.leaveDetour(d)
		close(d.ended)
	}()
	return d, nil
}

// Use sends the packets of a session over the detour from now on.
func (d *Detour) Use(s relay.Session) {
	e := d.p.peer(s)
	e.detour.Store(d)
	if d.gone.Load() {
		d.p.leaveDetour(d)
	}
	e.resendRecent(d.up.Out) // so that the agent follows
}

// Close ends the detour, but does not wait for its end.
func (d *Detour) Close() {
	d.gone.Store(true)
	d.p.leaveDetour(d)
	d.up.Close()
}

// Ended returns a channel that is closed when the detour has ended.
func (d *Detour) Ended() <-chan struct{} { return d.ended }

// Gone reports whether the detour has ended or is ending.
func (d *Detour) Gone() bool { return d.gone.Load() }

// leaveDetour moves the sessions of a detour to the path's own relay, and sends packets
// again that may be lost.
func (p *Path) leaveDetour(d *Detour) {
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

// outbox returns the outbox of the link that carries a peer's relayed packets now, or nil
// without a link. closed reports whether the path has ended.
func (p *Path) outbox(e *Peer) (out *relay.Outbox, closed bool) {
	p.mu.Lock()
	out, closed = p.out, p.isClosed
	p.mu.Unlock()
	if d := e.detour.Load(); d != nil && !d.gone.Load() {
		out = d.up.Out
	}
	return out, closed
}

// followDetour makes an agent answer over the link that the client uses: via, or the path's
// own link if via is nil. A client that returns from a detour may have lost records there.
func (e *Peer) followDetour(via *Detour) {
	old := e.detour.Load()
	if old == via || !e.detour.CompareAndSwap(old, via) {
		return
	}
	e.growth.pathMoved.Store(true)
	if via == nil {
		e.notifyRecordsChanged()
	}
}
