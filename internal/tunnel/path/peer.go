package path

import (
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/parity"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/probe"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

const (
	// kept is how many packets are sent again when a path returns: more than
	// the two after which QUIC calls a gap a loss.
	kept = 4
	// maxPeers bounds for how many sessions an agent keeps packets.
	maxPeers = 4096
)

// Peer is the other end of a session: its address, and the last packets sent
// to it.
type Peer struct {
	session relay.Session
	addr    atomic.Pointer[net.UDPAddr] // as QUIC knows it
	growth  growth

	parityOut parity.Out
	parityIn  parity.In

	// conn is the connection of the session, once there is one.
	conn atomic.Pointer[quic.Conn]
	// given counts the packets handed to QUIC since it had taken taken of them.
	// Only the goroutine that calls ReadFrom uses the two.
	given, taken uint64

	records atomic.Pointer[Records] // takes the records of the session, or nil
	wire    atomic.Pointer[wire]    // carries its records, or nil
	wiring  wiring

	keys   atomic.Pointer[probe.Keys] // of its probes, after the handshake
	direct atomic.Pointer[directPath] // by which to send, nil for the relay
	moved  atomic.Uint64              // packets, both ways
	heard  atomic.Int64               // when something came last, as path.since; 0: never
	big    atomic.Bool                // a big one was sent since it was last looked at
	prober atomic.Pointer[prober]     // of a client, or nil
	detour atomic.Pointer[Detour]     // by which relayed packets travel; nil for the path's own link

	mu     sync.Mutex
	recent [kept][]byte
	next   int
}

// peer returns the peer of a session.
func (p *Path) peer(s relay.Session) *Peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	if e, ok := p.peers[s]; ok {
		return e
	}
	if len(p.peers) >= maxPeers { // forget one peer, which only loses speed after an outage
		for old := range p.peers {
			delete(p.peers, old)
			break
		}
	}
	e := &Peer{session: s}
	e.addr.Store(Addr(s))
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
func (e *Peer) hold(n int) {
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
			e.taken, e.given = took+e.taken, 0 // some never arrived: count again
			return
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// Addr makes the address by which QUIC knows a session: 16 bytes are an IPv6
// address, which quic-go compares without allocating.
func Addr(s relay.Session) *net.UDPAddr { return &net.UDPAddr{IP: s[:], Port: 1} }

// asks is the address from which a marked packet comes.
func (e *Peer) asks() *net.UDPAddr { return &net.UDPAddr{IP: e.session[:], Port: 3} }

// SessionOf is the opposite of Addr.
func SessionOf(a net.Addr) (s relay.Session, ok bool) {
	u, ok := a.(*net.UDPAddr)
	if !ok || len(u.IP) != len(s) {
		return s, false
	}
	return relay.Session(u.IP), true
}

// Accepted notes an agent's connection of a session, whose handshake is done. The
// client will look for a direct path.
func (p *Path) Accepted(s relay.Session, c *quic.Conn) *Peer {
	e := p.peer(s)
	e.growth.restart = e.readdress
	p.connected(e, c, true)
	return e
}

// Dialed notes a client's connection of a session, whose handshake is done, and
// begins to look for a direct path where this end has a socket. The transport is the
// connection's.
func (p *Path) Dialed(s relay.Session, c *quic.Conn, t *quic.Transport) *Peer {
	e := p.peer(s)
	e.growth.restart = e.switcher(c, t)
	p.connected(e, c, false)
	if p.direct != nil && e.keys.Load() != nil {
		q := newProber(p, e)
		e.prober.Store(q)
		go q.run()
	}
	return e
}

func (p *Path) connected(e *Peer, c *quic.Conn, agent bool) {
	e.growth.since = p.since()
	e.conn.Store(c)
	keys, err := probe.KeysOf(c, agent)
	if err != nil {
		p.c.Log.Debug("no probes for a tunnel", "error", err)
		return
	}
	e.keys.Store(keys)
	if p.direct != nil {
		p.direct.add(keys.ID, e)
	}
}

// Ways is what a client knows of the ways to its agent.
type Ways struct {
	Direct    netip.AddrPort // of the agent, where packets go directly; not valid otherwise
	DirectRTT time.Duration  // of small packets on it; 0: not known
	RelayRTT  time.Duration  // through the relay; 0: not known
	Why       string         // there is no direct path
}

// Ways returns what is known of the ways to the peer. It is empty where this end has
// no socket.
func (e *Peer) Ways() Ways {
	q := e.prober.Load()
	if q == nil {
		return Ways{}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	w := Ways{Direct: q.chosen, RelayRTT: q.rtts[netip.AddrPort{}], Why: q.why}
	if q.chosen.IsValid() {
		w.DirectRTT = q.rtts[q.chosen]
	}
	return w
}

// Forget drops what is kept of a session that ended.
func (p *Path) Forget(s relay.Session) { p.forget(s) }

func (p *Path) forget(s relay.Session) *Peer {
	p.mu.Lock()
	e := p.peers[s]
	delete(p.peers, s)
	p.mu.Unlock()
	if e != nil && p.direct != nil {
		p.direct.remove(e)
	}
	return e
}

// sent remembers the last packets of a batch.
func (e *Peer) sent(b []byte, seg int) {
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
func (e *Peer) resend(out *relay.Outbox) {
	e.growth.moved.Store(true)
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range kept {
		if b := e.recent[(e.next+i)%kept]; len(b) > 0 {
			out.Packet(e.session, b)
		}
	}
}

// resend queues the last packets of every session.
func (p *Path) resend(out *relay.Outbox) {
	p.mu.Lock()
	peers := make([]*Peer, 0, len(p.peers))
	for _, e := range p.peers {
		if d := e.detour.Load(); d == nil || d.gone.Load() {
			peers = append(peers, e)
		}
	}
	p.mu.Unlock()
	for _, e := range peers {
		e.resend(out)
		e.recordsChanged()
	}
}

// Returned sends the last packets of one session again: its path is back.
func (p *Path) Returned(s relay.Session) {
	p.mu.Lock()
	e := p.peers[s]
	p.mu.Unlock()
	if e == nil {
		p.tellEnd(s, nil)
		return
	}
	if out, _ := p.outbox(e); out != nil {
		e.resend(out)
		e.recordsChanged()
	}
}

// Count returns the number of tunnels with a direct path and of those through the relay.
func (p *Path) Count() (direct, relayed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.peers {
		switch {
		case e.conn.Load() == nil: // not a tunnel yet
		case e.direct.Load() != nil:
			direct++
		default:
			relayed++
		}
	}
	return direct, relayed
}
