package tunnel

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"
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

	// conn is the connection of the session, once there is one.
	conn atomic.Pointer[quic.Conn]
	// given counts the packets handed to QUIC since it had taken taken of them.
	// Only the goroutine that calls ReadFrom uses the two.
	given, taken uint64

	keys   atomic.Pointer[probeKeys]  // of its probes, after the handshake
	direct atomic.Pointer[directPath] // by which to send, nil for the relay
	moved  atomic.Uint64              // packets, both ways
	big    atomic.Bool                // a big one was sent since it was last looked at
	prober *prober                    // of a client, or nil

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

const (
	// maxAhead is how many packets of a session may wait inside of QUIC, which
	// drops what comes while 256 wait and takes that for congestion.
	maxAhead = 128
	// aheadCheck is after how many packets that is looked at.
	aheadCheck = 32
	// aheadWait is how long other sessions may wait for one.
	aheadWait = 25 * time.Millisecond
)

// hold waits while QUIC has not kept up with what it was given, n packets more.
// The relay brings packets in bursts that no socket buffer would, and without
// this a fast path over a distance loses most of its speed to QUIC's own queue.
func (e *peer) hold(n int) {
	before := e.given
	e.given += uint64(n)
	e.moved.Add(uint64(n))
	if before/aheadCheck == e.given/aheadCheck {
		return
	}
	c := e.conn.Load()
	if c == nil {
		return
	}
	for start := time.Now(); ; {
		took := c.ConnectionStats().PacketsReceived - e.taken
		if e.given <= took+maxAhead {
			return
		}
		if c.Context().Err() != nil || time.Since(start) > aheadWait {
			e.taken, e.given = took+e.taken, 0 // some never arrived: count anew
			return
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// connected notes the connection of a session, whose handshake is done.
func (p *path) connected(s Session, c *quic.Conn, agent bool) *peer {
	e := p.peer(s)
	e.conn.Store(c)
	keys, err := exportKeys(c, agent)
	if err != nil {
		p.log.Debug("no probes for a tunnel", "error", err)
		return e
	}
	e.keys.Store(keys)
	if p.direct != nil {
		p.direct.add(keys.id, e)
	}
	return e
}

// forget drops what is kept of a session that ended.
func (p *path) forget(s Session) {
	p.mu.Lock()
	e := p.peers[s]
	delete(p.peers, s)
	p.mu.Unlock()
	if e != nil && p.direct != nil {
		p.direct.remove(e)
	}
}

// sent remembers the last packets of a batch.
func (e *peer) sent(b []byte, seg int) {
	n := (len(b) + seg - 1) / max(seg, 1)
	e.moved.Add(uint64(n))
	if min(seg, len(b)) > bigPacket && !e.big.Load() {
		e.big.Store(true)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := max(0, n-kept); i < n; i++ {
		e.recent[e.next] = append(e.recent[e.next][:0], b[i*seg:min(len(b), (i+1)*seg)]...)
		e.next = (e.next + 1) % kept
	}
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
