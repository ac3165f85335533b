package path

import (
	"bytes"
	"context"
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
	// maxRecent is the number of packets that are sent again when a path returns. QUIC accepts
	// two packets after a gap before it declares a loss; this is more.
	maxRecent = 4
	// maxPeers bounds the sessions for which an agent keeps packets.
	maxPeers = 4096
)

// Peer is the other end of a session.
type Peer struct {
	session relay.Session
	addr    atomic.Pointer[net.UDPAddr] // as QUIC knows it
	growth  growth

	parityOut parity.Out
	parityIn  parity.In

	// conn is the connection of the session; nil before the handshake.
	conn atomic.Pointer[quic.Conn]
	// delivered counts the packets that were handed to QUIC after it had read readBefore of
	// them. Only the goroutine that calls ReadFrom uses the two.
	delivered, readBefore uint64
	waiting               atomic.Bool   // waitForQUIC waits for progress
	progress              chan struct{} // QUIC sent packets, so it may have read some

	records atomic.Pointer[Records] // receives the records of the session, or nil
	wire    atomic.Pointer[wire]    // carries the records, or nil
	wiring  wiring

	keys         atomic.Pointer[probe.Keys] // of the session's probes; nil before the handshake
	direct       atomic.Pointer[directPath] // carries the packets that are sent; nil for the relay
	moved        atomic.Uint64              // packets, both ways
	lastReceived atomic.Int64               // when the last packet came, as Path.elapsed; 0: never
	big          atomic.Bool                // a big packet was sent since the flag was last cleared
	prober       atomic.Pointer[prober]     // of a client, or nil
	detour       atomic.Pointer[Detour]     // carries relayed packets; nil for the path's own link

	mu     sync.Mutex
	recent [maxRecent][]byte // copies of the last packets sent; a ring
	next   int               // index in recent of the next packet
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
	e := &Peer{session: s, progress: make(chan struct{}, 1)}
	e.addr.Store(Addr(s))
	p.peers[s] = e
	return e
}

const (
	// maxUnread is how many packets of a session QUIC may have left to read. It drops packets
	// that arrive while 256 are unread, and takes the loss for congestion.
	maxUnread = 128
	// unreadCheck is the number of packets after which the unread ones are counted.
	unreadCheck = 32
	// unreadWait bounds how long the packets of other sessions wait for QUIC to read those of one.
	unreadWait = 25 * time.Millisecond
	// unreadPoll is the interval between counts while QUIC sends nothing.
	unreadPoll = time.Millisecond
)

// waitForQUIC waits while QUIC has too many unread packets, n packets more. The relay delivers
// packets in bursts that no socket buffer would hold. Without the wait, a fast path over a
// distance loses most of its speed to QUIC's own queue.
func (e *Peer) waitForQUIC(n int) {
	before := e.delivered
	e.delivered += uint64(n)
	e.moved.Add(uint64(n))
	if before/unreadCheck == e.delivered/unreadCheck {
		return
	}
	c := e.conn.Load()
	if c == nil || e.hasRead(c) {
		return
	}
	e.waiting.Store(true)
	defer e.waiting.Store(false)
	poll := time.NewTicker(unreadPoll)
	defer poll.Stop()
	ctx, cancel := context.WithTimeout(c.Context(), unreadWait)
	defer cancel()
	for ctx.Err() == nil {
		select {
		case <-e.progress:
		case <-poll.C:
		case <-ctx.Done():
		}
		if e.hasRead(c) {
			return
		}
	}
	e.readBefore, e.delivered = c.ConnectionStats().PacketsReceived, 0 // some never arrived: count again
}

// hasRead reports whether QUIC has read enough of the delivered packets.
func (e *Peer) hasRead(c *quic.Conn) bool {
	return e.delivered <= c.ConnectionStats().PacketsReceived-e.readBefore+maxUnread
}

// Addr returns the address by which QUIC knows a session. The 16 bytes of a session are used
// as an IPv6 address, which quic-go compares without allocating.
func Addr(s relay.Session) *net.UDPAddr { return &net.UDPAddr{IP: s[:], Port: 1} }

// challengeAddr returns the address from which QUIC sees a marked packet come.
func (e *Peer) challengeAddr() *net.UDPAddr { return &net.UDPAddr{IP: e.session[:], Port: 3} }

// SessionOf returns the session of an address that Addr returned.
func SessionOf(a net.Addr) (s relay.Session, ok bool) {
	u, ok := a.(*net.UDPAddr)
	if !ok || len(u.IP) != len(s) {
		return s, false
	}
	return relay.Session(u.IP), true
}

// Accepted registers an agent's connection of a session after its handshake. The client
// searches for a direct path.
func (p *Path) Accepted(s relay.Session, c *quic.Conn) *Peer {
	e := p.peer(s)
	e.growth.restart = e.changeAddress
	p.registerConn(e, c, true)
	return e
}

// Dialed registers a client's connection of a session after its handshake. If this end has a
// UDP socket, Dialed starts the search for a direct path. t is the connection's transport.
func (p *Path) Dialed(s relay.Session, c *quic.Conn, t *quic.Transport) *Peer {
	e := p.peer(s)
	e.growth.restart = e.pathSwitcher(c, t)
	p.registerConn(e, c, false)
	if p.direct != nil && e.keys.Load() != nil {
		q := newProber(p, e)
		e.prober.Store(q)
		go q.run()
	}
	return e
}

func (p *Path) registerConn(e *Peer, c *quic.Conn, agent bool) {
	e.growth.lastRestart = p.elapsed()
	e.conn.Store(c)
	keys, err := probe.KeysOf(c, agent)
	if err != nil {
		p.c.Log.Debug("no probes for a tunnel", "error", err)
		return
	}
	e.keys.Store(keys)
	if p.direct != nil {
		p.direct.addPeer(keys.ID, e)
	}
}

// PeerState is the state of a client's paths to its agent.
type PeerState struct {
	Direct    netip.AddrPort // the agent's address on the direct path; not valid without such a path
	DirectRTT time.Duration  // round trip of small packets on the direct path; 0: not known
	RelayRTT  time.Duration  // round trip through the relay; 0: not known
	Why       string         // why there is no direct path
}

// State returns the state of the paths to the peer. It is empty if this end has no UDP socket.
func (e *Peer) State() PeerState {
	q := e.prober.Load()
	if q == nil {
		return PeerState{}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	s := PeerState{Direct: q.chosen, RelayRTT: q.rtts[netip.AddrPort{}], Why: q.why}
	if q.chosen.IsValid() {
		s.DirectRTT = q.rtts[q.chosen]
	}
	return s
}

// Forget deletes the state of a session that ended.
func (p *Path) Forget(s relay.Session) { p.forgetPeer(s) }

func (p *Path) forgetPeer(s relay.Session) *Peer {
	p.mu.Lock()
	e := p.peers[s]
	delete(p.peers, s)
	p.mu.Unlock()
	if e != nil && p.direct != nil {
		p.direct.removePeer(e)
	}
	return e
}

// rememberSent counts the packets of a batch and keeps copies of the last ones.
func (e *Peer) rememberSent(b []byte, seg int) {
	n := (len(b) + seg - 1) / max(seg, 1)
	e.moved.Add(uint64(n))
	if e.waiting.Load() {
		select {
		case e.progress <- struct{}{}:
		default:
		}
	}
	if min(seg, len(b)) > bigPacket && !e.big.Load() {
		e.big.Store(true)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := max(0, n-maxRecent); i < n; i++ {
		e.recent[e.next] = append(e.recent[e.next][:0], b[i*seg:min(len(b), (i+1)*seg)]...)
		e.next = (e.next + 1) % maxRecent
	}
}

// resendRecent queues the packets that rememberSent kept, oldest first. It may wait for the link.
// In the meantime the session can send other packets.
func (e *Peer) resendRecent(out *relay.Outbox) {
	e.growth.pathMoved.Store(true)
	var packets [][]byte
	e.mu.Lock()
	for i := range maxRecent {
		if b := e.recent[(e.next+i)%maxRecent]; len(b) > 0 {
			packets = append(packets, bytes.Clone(b))
		}
	}
	e.mu.Unlock()
	for _, b := range packets {
		out.Packet(e.session, b)
	}
}

// resendAll queues the last packets of every session that uses the path's own link.
func (p *Path) resendAll(out *relay.Outbox) {
	p.mu.Lock()
	peers := make([]*Peer, 0, len(p.peers))
	for _, e := range p.peers {
		if d := e.detour.Load(); d == nil || d.gone.Load() {
			peers = append(peers, e)
		}
	}
	p.mu.Unlock()
	for _, e := range peers {
		e.resendRecent(out)
		e.notifyRecordsChanged()
	}
}

// Returned sends the last packets of a session again, because its path works again. If the
// session has ended, the client is notified instead.
func (p *Path) Returned(s relay.Session) {
	p.mu.Lock()
	e := p.peers[s]
	p.mu.Unlock()
	if e == nil {
		p.notifyEnded(s, nil)
		return
	}
	if out, _ := p.outbox(e); out != nil {
		e.resendRecent(out)
		e.notifyRecordsChanged()
	}
}

// Count returns the number of tunnels with a direct path and of those through the relay.
func (p *Path) Count() (direct, relayed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.peers {
		switch {
		case e.conn.Load() == nil: // before the handshake, so not yet a tunnel
		case e.direct.Load() != nil:
			direct++
		default:
			relayed++
		}
	}
	return direct, relayed
}
