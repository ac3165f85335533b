package path

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/pcap"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/probe"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/udp"
)

// The back-off of dialing a link again: after the loss of one that was up it
// is short, for the other side is likely to be there; after a dial that
// failed it grows.
const (
	backoffMin  = 50 * time.Millisecond
	backoffLost = 400 * time.Millisecond
	backoffMax  = 1300 * time.Millisecond
	// backoffLong is the longest when an outage lasts longer than Config.Outage.
	backoffLong = 8 * time.Second
	// steady is how long a link lives before its loss begins a new back-off.
	steady = time.Second
	// lingering is how long what waits may take to leave when a path is closed.
	lingering = 200 * time.Millisecond
)

// PacketSize is the size of full packets. The relay could take bigger ones, but a
// tunnel may move to a direct path later, and quic-go's pacer counts in packets of
// this size: with any other it spins (v0.65.0).
const PacketSize = 1280

// Config has what a path needs.
type Config struct {
	Relay relay.Dialer
	Hello string            // the first message on every link
	Bye   string            // the last message on the link of a path that is closed; "": none
	Text  func(text string) // takes what the relay says, in order
	Final func(error) bool  // says which errors end the path
	Log   *slog.Logger
	// Follow sends the packets of a session by the link that its last ones came by.
	Follow bool
	// Outage is how long a link may be away until it is dialed less often.
	Outage time.Duration
	// Now returns the time of the wall clock, and Addresses the addresses of this
	// machine; nil: those of the system. (For tests.)
	Now       func() time.Time
	Addresses func() []netip.Addr
}

// Path is what QUIC sends through: packets of one or many sessions, each by its
// direct path when it has one that works, otherwise over the link to the relay,
// which is dialed again whenever it is lost. Without either packets are lost, as
// on any network. It is a net.PacketConn;
// PacketConn returns a better one. It is safe for concurrent use.
type Path struct {
	c    Config
	born time.Time // times are kept as what has passed since

	cancel context.CancelFunc
	ended  context.Context
	done   chan struct{} // closed when run has ended
	closed chan struct{} // closed by shut
	in     chan arrival
	direct *directs // nil: the relay only

	capture  atomic.Pointer[pcap.Writer] // nil: none
	patience relay.Patience

	mu    sync.Mutex
	shut  bool
	err   error         // why the path ended
	link  relay.Link    // nil without
	out   *relay.Outbox // of link
	spare relay.Link    // was dialed to take its place; nil without
	peers map[relay.Session]*Peer
	woke  chan struct{} // closed when the machine wakes up, and replaced
	ends  endings

	detours sync.WaitGroup // links to other relays

	// Only the goroutine with which QUIC reads uses this.
	now arrival
}

// arrival is what came at once from one peer.
type arrival struct {
	held    interface{ Release() } // the buffer; nil: none
	from    *Peer
	packets []byte         // that are left
	seg     int            // their size, but the last; 0: each has its length before it
	addr    netip.AddrPort // where they came from; not valid for the relay
}

// New makes a path; Start starts it.
func New(c Config) *Path {
	ctx, cancel := context.WithCancel(context.Background())
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Addresses == nil {
		c.Addresses = udp.LocalAddresses
	}
	return &Path{
		c: c, cancel: cancel, ended: ctx, born: time.Now(),
		done: make(chan struct{}), closed: make(chan struct{}), in: make(chan arrival, 4), peers: make(map[relay.Session]*Peer),
		woke: make(chan struct{}),
	}
}

// Start begins to dial.
func (p *Path) Start() {
	go p.run(p.ended)
	go p.watchSleep(p.ended)
}

// since returns the time as what has passed since the path was made.
func (p *Path) since() time.Duration { return time.Since(p.born) }

// run keeps a link until the context ends or an error is final.
func (p *Path) run(ctx context.Context) {
	defer close(p.done)
	defer func() {
		if l := p.taken(); l != nil {
			l.Close(0, "")
		}
	}()
	backoff, lost := backoffMin, time.Now()
	for {
		start, woke := time.Now(), p.wakeUp()
		up, err := p.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if p.c.Final(err) {
			p.end(err)
			return
		}
		if up {
			lost = time.Now()
		}
		longest := backoffMax
		if time.Since(lost) > p.c.Outage {
			longest = backoffLong
		}
		switch {
		case up && time.Since(start) > steady:
			backoff = backoffMin
		case up:
			backoff = min(backoff, backoffLost)
		}
		wait := backoff/2 + rand.N(backoff)
		p.c.Log.Debug("lost the link to the relay", "error", err, "again_in", wait)
		select {
		case <-ctx.Done():
			return
		case <-woke: // the attempt may have started before
			backoff, lost = backoffMin, time.Now()
			continue
		case <-time.After(wait):
		}
		backoff = min(2*backoff, longest)
	}
}

// serve dials a link and uses it until it fails; up reports whether there was one.
func (p *Path) serve(ctx context.Context) (up bool, err error) {
	raw := p.taken()
	if raw == nil {
		if raw, err = p.dial(ctx); err != nil {
			p.failed(err)
			return false, err
		}
	}
	link := &heardLink{Link: raw, p: p}
	if err := link.Send(true, []byte(p.c.Hello)); err != nil {
		link.Close(0, "")
		p.failed(err)
		return false, err
	}
	out := relay.NewOutbox()
	defer out.Close()
	p.mu.Lock()
	p.link, p.out = link, out
	p.mu.Unlock()

	watch, stop := context.WithCancel(ctx)
	defer stop()
	relay.KeepAlive(watch, link)
	go link.watch(watch)
	failed := make(chan error, 1)
	go func() { failed <- out.Drain(link) }()
	received := make(chan struct{})
	go func() {
		defer close(received)
		_ = p.lost(link, relay.Each(link, p.take)) // which ends the draining
	}()
	p.resend(out)
	select {
	case err = <-failed:
	case <-ctx.Done():
		if p.c.Bye != "" {
			out.Text(p.c.Bye)
		}
		out.Finish()
		select {
		case err = <-failed:
		case <-time.After(lingering):
		}
	}
	link.Close(0, "")
	err = p.lost(link, err)
	<-received
	return true, err
}

// failed notes why there is no link.
func (p *Path) failed(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shut {
		p.err = err
	}
}

// lost forgets a link and gives the reason: that of the first goroutine that saw it.
func (p *Path) lost(l relay.Link, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == l {
		p.err = err
		p.out.Close()
		p.link, p.out = nil, nil
	}
	return p.err
}

// Closed is closed when the path has ended.
func (p *Path) Closed() <-chan struct{} { return p.closed }

// end closes the path for good with a reason.
func (p *Path) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shut {
		p.shut, p.err = true, err
		close(p.closed)
	}
}

// Reason reports why the path ended, nil while it lives.
func (p *Path) Reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.shut {
		return nil
	}
	return p.err
}

// Online reports whether a link is there.
func (p *Path) Online() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link != nil
}

// take takes a message of a link.
func (p *Path) take(m *relay.Message, wait bool) bool {
	if m.Text {
		p.c.Text(string(m.Data))
		m.Release()
		return true
	}
	return p.packets(m, nil, wait)
}

// packets takes the packets of a message that came by a detour, or the path's own link
// for nil.
func (p *Path) packets(m *relay.Message, via *Detour, wait bool) bool {
	s, packets, err := m.Session()
	if err != nil {
		m.Release()
		return true
	}
	if p.ends.knows(s) {
		m.Release()
		p.tellEnd(s, via)
		return true
	}
	e := p.peer(s)
	if p.c.Follow {
		e.follow(via)
	}
	p.heard(e)
	if b := onlyRecord(packets); b != nil { // which QUIC's reader has nothing to do with
		p.record(e, b)
		m.Release()
		return true
	}
	a := arrival{held: m, from: e, packets: packets}
	if !wait {
		select {
		case p.in <- a:
			return true
		default:
			return false
		}
	}
	if !p.arrived(a) {
		m.Release()
	}
	return true
}

// arrived hands packets to QUIC, waiting until it takes them; false at the end.
func (p *Path) arrived(a arrival) bool {
	select {
	case p.in <- a:
		return true
	case <-p.closed:
		return false
	}
}

// next waits for the next arrival, having let go of the one before. It fails
// only when the path has ended.
func (p *Path) next() error {
	if p.now.held != nil {
		p.now.held.Release()
		p.now.held = nil
	}
	select {
	case p.now = <-p.in:
		return nil
	case <-p.closed:
		return net.ErrClosed
	}
}

// packet takes the next packet for QUIC off what arrived; ok is false when none
// is left. Probes are dealt with on the way.
func (p *Path) packet() (packet []byte, ok bool) {
	for {
		a := &p.now
		if a.seg > 0 {
			n := min(a.seg, len(a.packets))
			packet, a.packets, ok = a.packets[:n], a.packets[n:], n > 0
		} else if packet, a.packets, ok = relay.NextPacket(a.packets); !ok {
			a.packets = nil
		}
		if !ok {
			return nil, false
		}
		if isRecord(packet) {
			p.record(a.from, packet)
			continue
		}
		if _, is := probe.Is(packet); !is {
			if a.addr.IsValid() {
				a.from.parityIn.Keep(packet, p.since)
			}
			if c := p.capture.Load(); c != nil {
				c.Packets(packet, 0, false)
			}
			return packet, true
		}
		if y := p.probed(a.from, packet, a.addr); y != nil {
			if packet = a.from.parityIn.Mend(y, p.since()); packet != nil {
				return packet, true
			}
		}
	}
}

// ReadFrom returns the next packet. It fails only when the path has ended.
func (p *Path) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		if packet, ok := p.packet(); ok {
			p.now.from.hold(1)
			packet, from := p.now.from.shown(packet)
			return copy(b, packet), from, nil
		}
		if err := p.next(); err != nil {
			return 0, nil, err
		}
	}
}

// WriteTo sends one packet, waiting while the link is busy.
func (p *Path) WriteTo(b []byte, addr net.Addr) (int, error) { return p.send(b, 0, addr) }

// send sends a packet, or several of seg bytes each but the last, waiting while
// the way is busy.
func (p *Path) send(b []byte, seg int, addr net.Addr) (int, error) {
	s, ok := SessionOf(addr)
	if !ok {
		return 0, errors.New("not an address of a tunnel")
	}
	if seg <= 0 {
		seg = len(b)
	}
	e := p.peer(s)
	if c := e.conn.Load(); c != nil {
		e.look(c, p.since())
	}
	all := len(b)
	if b = e.mark(b); len(b) > all {
		seg = len(b)
	}
	e.sent(b, seg)
	if c := p.capture.Load(); c != nil {
		c.Packets(b, seg, true)
	}
	if p.direct != nil && p.direct.send(e, b, seg) {
		return all, nil
	}
	out, shut := p.outbox(e)
	if shut {
		return 0, net.ErrClosed
	}
	if out != nil {
		out.Packets(s, b, seg)
	}
	return all, nil
}

// suspect has the link to the relay prove that it works.
func (p *Path) suspect() {
	p.mu.Lock()
	link := p.link
	p.mu.Unlock()
	if link != nil {
		go p.doubt(p.ended, link)
	}
}

// Close ends the path, giving what waits a moment to leave.
func (p *Path) Close() error {
	p.end(net.ErrClosed)
	if p.direct != nil {
		p.direct.close()
	}
	p.cancel()
	<-p.done
	p.detours.Wait()
	return nil
}

// LocalAddr is no address; QUIC asks for it in logs only, and whether it stands
// for all addresses, which it does not.
func (p *Path) LocalAddr() net.Addr { return Addr(relay.Session{0xfc}) }

// SetDeadline, SetReadDeadline and SetWriteDeadline belong to net.PacketConn.
// quic-go sets a deadline in the past to end its reading when it closes.
func (p *Path) SetDeadline(t time.Time) error { return p.SetReadDeadline(t) }

// SetReadDeadline ends the path when t is past.
func (p *Path) SetReadDeadline(t time.Time) error {
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
func (p *Path) SetWriteDeadline(time.Time) error { return nil }

// SetReadBuffer and SetWriteBuffer do nothing; without them quic-go warns.
func (p *Path) SetReadBuffer(int) error { return nil }

// SetWriteBuffer does nothing.
func (p *Path) SetWriteBuffer(int) error { return nil }

// LastError is why there is no link.
func (p *Path) LastError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
