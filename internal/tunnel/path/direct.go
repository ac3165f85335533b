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

// directTimeout is how long a direct path is used after the last proof that it works.
// Then packets go through the relay until the next proof. With a ping every pingInterval,
// a path survives the loss of three pings. A dead path is left within a second.
const (
	directTimeout = 600 * time.Millisecond
	pingInterval  = 150 * time.Millisecond
)

// directPath is an address at which a peer was reached.
type directPath struct {
	to     netip.AddrPort
	proven atomic.Int64 // when the path last worked, as Path.elapsed
}

func (t *directPath) markProven(now time.Duration) { t.proven.Store(int64(now)) }

func (t *directPath) works(now time.Duration) bool {
	return now-time.Duration(t.proven.Load()) < directTimeout
}

// directSocket is the UDP socket of a path, and the addresses of its peers.
type directSocket struct {
	p     *Path
	sock  udp.Socket
	local func() []netip.Addr // addresses of this machine
	stun  []string            // servers, host:port
	tcp   bool                // the network is a real network, which carries TCP as well

	mu           sync.RWMutex
	byID         map[probe.ID]*Peer
	byAddr       map[netip.AddrPort]*Peer // addresses from which packets for QUIC are accepted
	addrs        map[*Peer][]netip.AddrPort
	wireListener net.Listener // of a client that has offered a wire, otherwise nil

	reflexive *stun.Addresses
}

// maxAddrs bounds the addresses from which packets of one peer are accepted.
const maxAddrs = 8

// OpenDirect adds a socket for direct paths to a path that is not yet started. The path
// owns the socket from now on. stunServers (host:port) show the path its public addresses;
// local returns the addresses of this machine.
func (p *Path) OpenDirect(sock udp.Socket, stunServers []string, local func() []netip.Addr) {
	d := &directSocket{
		p: p, sock: sock, stun: stunServers, local: local,
		byID: make(map[probe.ID]*Peer), byAddr: make(map[netip.AddrPort]*Peer), addrs: make(map[*Peer][]netip.AddrPort),
	}
	d.reflexive = stun.NewAddresses()
	d.tcp = udp.Real(sock)
	p.direct = d
	go d.readDatagrams()
}

func (d *directSocket) close() { _ = d.sock.Close() }

func (d *directSocket) addPeer(id probe.ID, e *Peer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.byID[id] = e
}

func (d *directSocket) removePeer(e *Peer) {
	defer e.closeWireUnless(netip.Addr{})
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

// admitAddr accepts packets for QUIC from an address from now on. An authenticated probe
// must have come from that address.
func (d *directSocket) admitAddr(e *Peer, from netip.AddrPort) {
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

// readDatagrams reads from the socket until it is closed.
func (d *directSocket) readDatagrams() {
	for {
		m := udp.NewDatagram()
		n, seg, from, err := d.sock.Read(m.Data[:])
		if err != nil {
			m.Release()
			if errors.Is(err, net.ErrClosed) || d.p.Reason() != nil {
				return
			}
			time.Sleep(time.Millisecond) // for example, some host refused a packet that we sent
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
			if !d.p.deliver(arrival{buffer: m, from: e, packets: got, seg: seg, addr: from}) {
				m.Release()
			}
			continue
		}
		_ = udp.EachSegment(got, seg, func(b []byte) error {
			d.handleUnknown(b, from)
			return nil
		})
		m.Release()
	}
}

// handleUnknown handles a datagram from an address that belongs to no peer.
func (d *directSocket) handleUnknown(b []byte, from netip.AddrPort) {
	if id, mapped, err := stun.ParseResponse(b); err == nil {
		d.reflexive.AddResponse(id, mapped, d.p.elapsed())
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
		d.p.handleProbe(e, b, from)
	}
}

// sendDirect sends packets over the direct path. It returns false if no direct path works.
func (d *directSocket) sendDirect(e *Peer, b []byte, seg int) bool {
	q := e.prober.Load()
	if q != nil {
		q.wakeIfIdle()
	}
	t := e.direct.Load()
	if t == nil || !t.works(d.p.elapsed()) {
		return false
	}
	if err := d.sock.Write(b, seg, t.to); err != nil {
		if e.direct.CompareAndSwap(t, nil) && q != nil {
			q.leavePath(t.to, err)
		}
		return false
	}
	e.parityOut.Sent(b, seg, d.p.elapsed(), func(y parity.Parity) { d.p.sendProbe(e, probe.Message{Kind: probe.Mend, Parity: &y}, t.to, 0) })
	return true
}

// handleProbe handles a probe of a peer. The probe came through the relay if from is not
// valid. handleProbe returns the probe's parity, if any, for the reader of packets.
func (p *Path) handleProbe(e *Peer, b []byte, from netip.AddrPort) *parity.Parity {
	keys := e.keys.Load()
	if keys == nil {
		return nil
	}
	m, err := keys.Open(b)
	if err != nil {
		return nil
	}
	if from.IsValid() && p.direct != nil {
		p.direct.admitAddr(e, from)
	}
	p.noteReceived(e)
	q := e.prober.Load()
	switch m.Kind {
	case probe.Ping:
		size := len(b)
		if e.big.Swap(false) {
			size = PacketSize // also proves that the path carries packets of the size sent
		}
		p.sendProbe(e, probe.Message{Kind: probe.Pong, Tx: m.Tx, Seen: from}, from, size)
		if q == nil && m.Chosen && m.Seen == from && from.IsValid() {
			p.followDirect(e, from)
		}
		if q != nil && from.IsValid() {
			q.addCandidates([]netip.AddrPort{from}, false)
		}
	case probe.Pong:
		if q != nil {
			q.handlePong(m, from)
		}
	case probe.Candidates:
		if q != nil {
			q.addCandidates(m.Addrs, m.Forbid)
		} else {
			p.answerCandidates(e, m.Addrs)
		}
	case probe.RelayOnly:
		if q == nil && e.direct.Swap(nil) != nil {
			e.closeWireUnless(netip.Addr{})
			p.Returned(e.session)
		}
	case probe.Wire:
		p.handleWireOffer(e, m, from)
	case probe.Ended:
		if !p.c.Follow { // a client
			p.closeWithError(EndedError{m.Text})
		}
	}
	return m.Parity
}

// followDirect makes an agent send over the direct path that the client has proven in both
// directions.
func (p *Path) followDirect(e *Peer, to netip.AddrPort) {
	t := e.direct.Load()
	if t == nil || t.to != to {
		p.c.Log.Debug("a tunnel goes directly", "to", to)
		t = &directPath{to: to}
		t.markProven(p.elapsed())
		e.direct.Store(t)
		e.closeWireUnless(to.Addr())
		e.growth.pathMoved.Store(true)
		return
	}
	t.markProven(p.elapsed())
}

// sendProbe sends a probe of at least size bytes to an address, or through the relay if to
// is not valid.
func (p *Path) sendProbe(e *Peer, m probe.Message, to netip.AddrPort, size int) {
	keys := e.keys.Load()
	if keys == nil {
		return
	}
	b := keys.Seal(m, size)
	if to.IsValid() {
		if p.direct != nil {
			_ = p.direct.sock.Write(b, 0, to) // a failed write is like a lost probe
		}
		return
	}
	if out, _ := p.outbox(e); out != nil {
		out.Offer(e.session, relay.AppendPacket(nil, b))
	}
}

// answerCandidates is the agent's part of the search for a direct path. It sends the
// agent's candidate addresses to the client. It also pings each of the client's addresses,
// so that routers on the path let packets from these addresses in.
func (p *Path) answerCandidates(e *Peer, theirs []netip.AddrPort) {
	d := p.direct
	if d == nil {
		p.sendProbe(e, probe.Message{Kind: probe.Candidates, Forbid: true}, netip.AddrPort{}, 0)
		return
	}
	for _, a := range theirs {
		p.sendProbe(e, probe.Message{Kind: probe.Ping, Tx: rand.Uint64()}, a, 0)
	}
	d.gatherCandidates(func(own []netip.AddrPort) {
		p.sendProbe(e, probe.Message{Kind: probe.Candidates, Addrs: own}, netip.AddrPort{}, 0)
	})
}
