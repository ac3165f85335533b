package path

import (
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/parity"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/probe"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/stun"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/udp"
)

// trust is how long a direct path is used after the last sign that it works;
// then packets go through the relay until there is another sign. With pings
// every pingEvery it outlasts the loss of three, and keeps the promise that a
// path that died is left within a second.
const (
	trust     = 600 * time.Millisecond
	pingEvery = 150 * time.Millisecond
)

// directPath is an address of a peer by which it was reached.
type directPath struct {
	to     netip.AddrPort
	proven atomic.Int64 // when it last worked, as path.since
}

func (t *directPath) prove(now time.Duration) { t.proven.Store(int64(now)) }

func (t *directPath) good(now time.Duration) bool {
	return now-time.Duration(t.proven.Load()) < trust
}

// directs is the UDP socket of a path, and who is where.
type directs struct {
	p     *Path
	sock  udp.Socket
	local func() []netip.Addr // addresses of this machine
	stun  []string            // servers, host:port
	tcp   bool                // the network is a real one, which carries TCP as well

	mu     sync.RWMutex
	byID   map[probe.ID]*Peer
	byAddr map[netip.AddrPort]*Peer // from where packets for QUIC are taken
	addrs  map[*Peer][]netip.AddrPort
	wires  net.Listener // of a client, once it offered a wire; nil before

	reflexive reflexive
}

// maxAddrs is from how many addresses packets of one peer are taken.
const maxAddrs = 8

// OpenDirect returns a path a socket for direct paths, before it is started: its own
// from now on. stunServers, host:port, tell it its public addresses; local gives
// those of this machine.
func (p *Path) OpenDirect(sock udp.Socket, stunServers []string, local func() []netip.Addr) {
	d := &directs{
		p: p, sock: sock, stun: stunServers, local: local,
		byID: make(map[probe.ID]*Peer), byAddr: make(map[netip.AddrPort]*Peer), addrs: make(map[*Peer][]netip.AddrPort),
	}
	d.reflexive.init()
	d.tcp = udp.Real(sock)
	p.direct = d
	go d.read()
}

func (d *directs) close() { _ = d.sock.Close() }

func (d *directs) add(id probe.ID, e *Peer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.byID[id] = e
}

func (d *directs) remove(e *Peer) {
	defer e.unwire(netip.Addr{})
	d.mu.Lock()
	defer d.mu.Unlock()
	if k := e.keys.Load(); k != nil {
		delete(d.byID, k.ID)
	}
	for _, a := range d.addrs[e] {
		if d.byAddr[a] == e {
			delete(d.byAddr, a)
		}
	}
	delete(d.addrs, e)
}

// admit takes packets for QUIC from an address from now on: an authenticated
// probe came from there.
func (d *directs) admit(e *Peer, from netip.AddrPort) {
	d.mu.RLock()
	known := d.byAddr[from] == e
	d.mu.RUnlock()
	if known {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	all := append(d.addrs[e], from)
	if len(all) > maxAddrs {
		if d.byAddr[all[0]] == e {
			delete(d.byAddr, all[0])
		}
		all = all[1:]
	}
	d.addrs[e], d.byAddr[from] = all, e
}

// read takes what comes to the socket until it is closed.
func (d *directs) read() {
	for {
		m := udp.NewDatagram()
		n, seg, from, err := d.sock.Read(m.Data[:])
		if err != nil {
			m.Release()
			if errors.Is(err, net.ErrClosed) || d.p.Reason() != nil {
				return
			}
			time.Sleep(time.Millisecond) // such as: a packet of ours was refused somewhere
			continue
		}
		got := m.Data[:n]
		if seg <= 0 {
			seg = n
		}
		d.mu.RLock()
		e := d.byAddr[from]
		d.mu.RUnlock()
		if e != nil && !stun.Is(got) {
			if !d.p.arrived(arrival{held: m, from: e, packets: got, seg: seg, addr: from}) {
				m.Release()
			}
			continue
		}
		_ = udp.EachSegment(got, seg, func(b []byte) error {
			d.stranger(b, from)
			return nil
		})
		m.Release()
	}
}

// stranger deals with a datagram from an address of nobody.
func (d *directs) stranger(b []byte, from netip.AddrPort) {
	if id, mapped, err := stun.ParseResponse(b); err == nil {
		d.reflexive.answered(id, mapped, d.p.since())
		return
	}
	id, ok := probe.Is(b)
	if !ok {
		return
	}
	d.mu.RLock()
	e := d.byID[id]
	d.mu.RUnlock()
	if e != nil {
		d.p.probed(e, b, from)
	}
}

// send sends packets by the direct path; false when there is none that works.
func (d *directs) send(e *Peer, b []byte, seg int) bool {
	q := e.prober.Load()
	if q != nil {
		q.used()
	}
	t := e.direct.Load()
	if t == nil || !t.good(d.p.since()) {
		return false
	}
	if err := d.sock.Write(b, seg, t.to); err != nil {
		if e.direct.CompareAndSwap(t, nil) && q != nil {
			q.failed(t.to, err)
		}
		return false
	}
	e.parityOut.Sent(b, seg, d.p.since(), func(y parity.Parity) { d.p.probe(e, probe.Message{Kind: probe.Mend, Parity: &y}, t.to, 0) })
	return true
}

// probed deals with a probe of a peer that came from an address, or through the
// relay when from is not valid. It hands a parity to the reader of packets.
func (p *Path) probed(e *Peer, b []byte, from netip.AddrPort) *parity.Parity {
	keys := e.keys.Load()
	if keys == nil {
		return nil
	}
	m, err := keys.Open(b)
	if err != nil {
		return nil
	}
	if from.IsValid() && p.direct != nil {
		p.direct.admit(e, from)
	}
	p.heard(e)
	q := e.prober.Load()
	switch m.Kind {
	case probe.Ping:
		size := len(b)
		if e.big.Swap(false) {
			size = PacketSize // what was sent shall arrive, too
		}
		p.probe(e, probe.Message{Kind: probe.Pong, Tx: m.Tx, Seen: from}, from, size)
		if q == nil && m.Chosen && m.Seen == from && from.IsValid() {
			p.follow(e, from)
		}
		if q != nil && from.IsValid() {
			q.offered([]netip.AddrPort{from}, false)
		}
	case probe.Pong:
		if q != nil {
			q.pong(m, from)
		}
	case probe.Candidates:
		if q != nil {
			q.offered(m.Addrs, m.Forbid)
		} else {
			p.offer(e, m.Addrs)
		}
	case probe.RelayOnly:
		if q == nil && e.direct.Swap(nil) != nil {
			e.unwire(netip.Addr{})
			p.Returned(e.session)
		}
	case probe.Wire:
		p.wireOffered(e, m, from)
	case probe.Ended:
		if !p.c.Follow { // a client
			p.end(EndedError{m.Text})
		}
	}
	return m.Parity
}

// follow has an agent send by the path that the client has proven in both
// directions.
func (p *Path) follow(e *Peer, to netip.AddrPort) {
	t := e.direct.Load()
	if t == nil || t.to != to {
		p.c.Log.Debug("a tunnel goes directly", "to", to)
		t = &directPath{to: to}
		t.prove(p.since())
		e.direct.Store(t)
		e.unwire(to.Addr())
		e.growth.moved.Store(true)
		return
	}
	t.prove(p.since())
}

// probe sends a probe to an address, or through the relay; size is its least.
func (p *Path) probe(e *Peer, m probe.Message, to netip.AddrPort, size int) {
	keys := e.keys.Load()
	if keys == nil {
		return
	}
	b := keys.Seal(m, size)
	if to.IsValid() {
		if p.direct != nil {
			_ = p.direct.sock.Write(b, 0, to) // a path that does not take it returns no answer
		}
		return
	}
	if out, _ := p.outbox(e); out != nil {
		out.Offer(e.session, relay.AppendPacket(nil, b))
	}
}

// offer is an agent's part of the search for a path: it tells the client where
// it may be reached, and sends something to each of the client's addresses, so
// that routers on the way let their answers in.
func (p *Path) offer(e *Peer, theirs []netip.AddrPort) {
	d := p.direct
	if d == nil {
		p.probe(e, probe.Message{Kind: probe.Candidates, Forbid: true}, netip.AddrPort{}, 0)
		return
	}
	for _, a := range theirs {
		p.probe(e, probe.Message{Kind: probe.Ping, Tx: rand.Uint64()}, a, 0)
	}
	d.gather(func(own []netip.AddrPort) {
		p.probe(e, probe.Message{Kind: probe.Candidates, Addrs: own}, netip.AddrPort{}, 0)
	})
}
