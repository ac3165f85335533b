package tunnel

import (
	"net"
	"sync"
)

const (
	// kept is how many packets are sent again when a path returns: more than
	// the two after which QUIC calls a gap a loss.
	kept = 4
	// maxPeers bounds for how many sessions an agent keeps packets.
	maxPeers = 4096
)

// peer is the other end of a session: its address, and the last packets sent
// to it.
type peer struct {
	session Session
	addr    *net.UDPAddr

	mu     sync.Mutex
	recent [kept][]byte
	next   int
}

// peer gives the peer of a session.
func (p *path) peer(s Session) *peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.peers[s]; ok {
		return e
	}
	if len(p.peers) >= maxPeers { // somebody is forgotten, who loses only speed after an outage
		for old := range p.peers {
			delete(p.peers, old)
			break
		}
	}
	e := &peer{session: s, addr: s.addr()}
	p.peers[s] = e
	return e
}

// forget drops what is kept of a session that ended.
func (p *path) forget(s Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.peers, s)
}

// sent remembers a packet.
func (e *peer) sent(b []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.recent[e.next] = append(e.recent[e.next][:0], b...)
	e.next = (e.next + 1) % kept
}

// resend queues the remembered packets, the oldest first.
func (e *peer) resend(out *Outbox) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range kept {
		if b := e.recent[(e.next+i)%kept]; len(b) > 0 {
			out.Packet(e.session, b)
		}
	}
}

// resend queues the last packets of every session.
func (p *path) resend(out *Outbox) {
	p.mu.Lock()
	peers := make([]*peer, 0, len(p.peers))
	for _, e := range p.peers {
		peers = append(peers, e)
	}
	p.mu.Unlock()
	for _, e := range peers {
		e.resend(out)
	}
}

// returned sends the last packets of one session again: its path is back.
func (p *path) returned(s Session) {
	p.mu.Lock()
	e, out := p.peers[s], p.out
	p.mu.Unlock()
	if e != nil && out != nil {
		e.resend(out)
	}
}
