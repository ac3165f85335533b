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

// The backoff before a link is dialed again. It is short after the loss of a link that
// was up, because the relay is probably reachable. It grows after each failed dial.
const (
	backoffMin  = 50 * time.Millisecond
	backoffLost = 400 * time.Millisecond
	backoffMax  = 1300 * time.Millisecond
	// backoffLong bounds the backoff once an outage lasts longer than Config.Outage.
	backoffLong = 8 * time.Second
	// stableAfter is how long a link must live so that its loss resets the backoff.
	stableAfter = time.Second
	// closeTimeout is how long a closed path waits for queued packets to leave.
	closeTimeout = 200 * time.Millisecond
)

// PacketSize is the size of full packets in bytes. The relay could carry bigger packets,
// but a tunnel may move to a direct path later. quic-go's pacer counts in packets of
// this size, and spins with any other size (v0.65.0).
const PacketSize = 1280

// Config configures a Path.
type Config struct {
	Relay relay.Dialer
	Hello string            // the first message on every link
	Bye   string            // the last message on the link of a closed path; "": none
	Text  func(text string) // receives the relay's text messages in order
	Final func(error) bool  // reports whether an error ends the path
	Log   *slog.Logger
	// Follow sends the packets of a session over the link that its last packets came from.
	Follow bool
	// Outage is how long an outage lasts before the relay is dialed less often.
	Outage time.Duration
	// Now returns the wall clock time, and Addresses the addresses of this machine.
	// nil stands for those of the system; tests replace them.
	Now       func() time.Time
	Addresses func() []netip.Addr
}

// Path is the socket that QUIC uses for the packets of one or many sessions. Each session
// uses its direct path while that works, and otherwise the link to the relay. A lost link
// is dialed again. Without a direct path and a link, packets are lost, as on any network.
// Path is a net.PacketConn; PacketConn returns a faster one. It is safe for concurrent use.
type Path struct {
	c       Config
	created time.Time // elapsed counts from here

	cancel   context.CancelFunc
	ctx      context.Context // canceled by Close
	done     chan struct{}   // closed when run has returned
	closed   chan struct{}   // closed when isClosed is set
	arrivals chan arrival
	direct   *directSocket // nil: the relay only

	capture  atomic.Pointer[pcap.Writer] // nil: no capture
	patience relay.Patience

	mu       sync.Mutex
	isClosed bool
	err      error         // why the path ended, or why there is no link
	link     relay.Link    // nil while there is no link
	out      *relay.Outbox // of link
	spare    relay.Link    // the link that replaces the one just closed, or nil
	peers    map[relay.Session]*Peer
	woke     chan struct{} // closed and replaced when the machine wakes up
	ends     endings

	detours sync.WaitGroup // links to other relays

	// Only the goroutine in which QUIC reads uses current.
	current arrival
}

// arrival is a buffer of packets from one peer.
type arrival struct {
	buffer  interface{ Release() } // nil: nothing to release
	from    *Peer
	packets []byte         // not yet read by QUIC
	seg     int            // size of each packet but the last; 0: a length precedes each packet
	addr    netip.AddrPort // source of the packets; not valid for the relay
}

// New returns a path; Start starts it.
func New(c Config) *Path {
	ctx, cancel := context.WithCancel(context.Background())
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Addresses == nil {
		c.Addresses = udp.LocalAddresses
	}
	return &Path{
		c: c, cancel: cancel, ctx: ctx, created: time.Now(),
		done: make(chan struct{}), closed: make(chan struct{}), arrivals: make(chan arrival, 4), peers: make(map[relay.Session]*Peer),
		woke: make(chan struct{}),
	}
}

// Start starts dialing the relay.
func (p *Path) Start() {
	go p.run(p.ctx)
	go p.watchSleep(p.ctx)
}

// elapsed returns the time since the path was created. Points in time that this package
// stores as a duration are values of elapsed.
func (p *Path) elapsed() time.Duration { return time.Since(p.created) }

// run keeps a link up until the context ends or an error is final.
func (p *Path) run(ctx context.Context) {
	defer close(p.done)
	defer func() {
		if l := p.takeSpareLink(); l != nil {
			l.Close(0, "")
		}
	}()
	backoff, lost := backoffMin, time.Now()
	for {
		start, woke := time.Now(), p.wakeChannel()
		up, err := p.serve(ctx)
		if ctx.Err() != nil {
			return
		}
		if p.c.Final(err) {
			p.closeWithError(err)
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
		case up && time.Since(start) > stableAfter:
			backoff = backoffMin
		case up:
			backoff = min(backoff, backoffLost)
		}
		wait := backoff/2 + rand.N(backoff)
		p.c.Log.Debug("lost the link to the relay", "error", err, "again_in", wait)
		select {
		case <-ctx.Done():
			return
		case <-woke: // the failed attempt may have started before the machine woke up
			backoff, lost = backoffMin, time.Now()
			continue
		case <-time.After(wait):
		}
		backoff = min(2*backoff, longest)
	}
}

// serve dials a link and uses it until it fails; up reports whether a link was up.
func (p *Path) serve(ctx context.Context) (up bool, err error) {
	raw := p.takeSpareLink()
	if raw == nil {
		if raw, err = p.dial(ctx); err != nil {
			p.recordLinkError(err)
			return false, err
		}
	}
	link := &watchedLink{Link: raw, p: p}
	if err := link.Send(true, []byte(p.c.Hello)); err != nil {
		link.Close(0, "")
		p.recordLinkError(err)
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
		_ = p.dropLink(link, relay.Each(link, p.receiveMessage)) // closes out, which ends Drain
	}()
	p.resendAll(out)
	select {
	case err = <-failed:
	case <-ctx.Done():
		if p.c.Bye != "" {
			out.Text(p.c.Bye)
		}
		out.Finish()
		select {
		case err = <-failed:
		case <-time.After(closeTimeout):
		}
	}
	link.Close(0, "")
	err = p.dropLink(link, err)
	<-received
	return true, err
}

// recordLinkError records why there is no link.
func (p *Path) recordLinkError(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isClosed {
		p.err = err
	}
}

// dropLink stops using a link and returns the reason: the error of the first goroutine
// that saw the link fail.
func (p *Path) dropLink(l relay.Link, err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == l {
		p.err = err
		p.out.Close()
		p.link, p.out = nil, nil
	}
	return p.err
}

// Closed returns a channel that is closed when the path has ended.
func (p *Path) Closed() <-chan struct{} { return p.closed }

// closeWithError closes the path permanently; err is the reason.
func (p *Path) closeWithError(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isClosed {
		p.isClosed, p.err = true, err
		close(p.closed)
	}
}

// Reason returns why the path ended, or nil while it is open.
func (p *Path) Reason() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isClosed {
		return nil
	}
	return p.err
}

// Online reports whether the link to the relay is up.
func (p *Path) Online() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.link != nil
}

// receiveMessage handles a message from a link. It returns false if wait is false and
// handling the message would block.
func (p *Path) receiveMessage(m *relay.Message, wait bool) bool {
	if m.Text {
		p.c.Text(string(m.Data))
		m.Release()
		return true
	}
	return p.receivePackets(m, nil, wait)
}

// receivePackets handles the packets of a message that came over a detour, or over the
// path's own link if via is nil. It returns false if wait is false and it would block.
func (p *Path) receivePackets(m *relay.Message, via *Detour, wait bool) bool {
	s, packets, err := m.Session()
	if err != nil {
		m.Release()
		return true
	}
	if p.ends.contains(s) {
		m.Release()
		p.notifyEnded(s, via)
		return true
	}
	e := p.peer(s)
	if p.c.Follow {
		e.followDetour(via)
	}
	p.noteReceived(e)
	if b := onlyRecord(packets); b != nil { // QUIC's reader does not need to see it
		p.receiveRecord(e, b)
		m.Release()
		return true
	}
	a := arrival{buffer: m, from: e, packets: packets}
	if !wait {
		select {
		case p.arrivals <- a:
			return true
		default:
			return false
		}
	}
	if !p.deliver(a) {
		m.Release()
	}
	return true
}

// deliver queues packets for QUIC and waits while the queue is full. It returns false if
// the path is closed; the caller must then release the buffer.
func (p *Path) deliver(a arrival) bool {
	select {
	case p.arrivals <- a:
		return true
	case <-p.closed:
		return false
	}
}

// waitForArrival releases the current arrival and waits for the next. It fails only when
// the path has ended.
func (p *Path) waitForArrival() error {
	if p.current.buffer != nil {
		p.current.buffer.Release()
		p.current.buffer = nil
	}
	select {
	case p.current = <-p.arrivals:
		return nil
	case <-p.closed:
		return net.ErrClosed
	}
}

// nextPacket returns the next packet for QUIC from the current arrival; ok is false when
// none is left. It handles the probes and records that it finds before that packet.
func (p *Path) nextPacket() (packet []byte, ok bool) {
	for {
		a := &p.current
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
			p.receiveRecord(a.from, packet)
			continue
		}
		if _, is := probe.Is(packet); !is {
			if a.addr.IsValid() {
				a.from.parityIn.Keep(packet, p.elapsed)
			}
			if c := p.capture.Load(); c != nil {
				c.Packets(packet, 0, false)
			}
			return packet, true
		}
		if y := p.handleProbe(a.from, packet, a.addr); y != nil {
			if packet = a.from.parityIn.Mend(y, p.elapsed()); packet != nil {
				return packet, true
			}
		}
	}
}

// ReadFrom returns the next packet. It fails only when the path has ended.
func (p *Path) ReadFrom(b []byte) (int, net.Addr, error) {
	for {
		if packet, ok := p.nextPacket(); ok {
			p.current.from.waitForQUIC(1)
			packet, from := p.current.from.removeMark(packet)
			return copy(b, packet), from, nil
		}
		if err := p.waitForArrival(); err != nil {
			return 0, nil, err
		}
	}
}

// WriteTo sends one packet, waiting while the link is busy.
func (p *Path) WriteTo(b []byte, addr net.Addr) (int, error) { return p.sendPackets(b, 0, addr) }

// sendPackets sends one packet, or several that have seg bytes each, except for the last.
// It waits while the link is busy.
func (p *Path) sendPackets(b []byte, seg int, addr net.Addr) (int, error) {
	s, ok := SessionOf(addr)
	if !ok {
		return 0, errors.New("not an address of a tunnel")
	}
	if seg <= 0 {
		seg = len(b)
	}
	e := p.peer(s)
	if c := e.conn.Load(); c != nil {
		e.checkGrowth(c, p.elapsed())
	}
	all := len(b)
	if b = e.addMark(b); len(b) > all {
		seg = len(b)
	}
	e.rememberSent(b, seg)
	if c := p.capture.Load(); c != nil {
		c.Packets(b, seg, true)
	}
	if p.direct != nil && p.direct.sendDirect(e, b, seg) {
		return all, nil
	}
	out, closed := p.outbox(e)
	if closed {
		return 0, net.ErrClosed
	}
	if out != nil {
		out.Packets(s, b, seg)
	}
	return all, nil
}

// checkRelayLink starts a check whether the link to the relay still works.
func (p *Path) checkRelayLink() {
	p.mu.Lock()
	link := p.link
	p.mu.Unlock()
	if link != nil {
		go p.checkLink(p.ctx, link)
	}
}

// Close ends the path. Queued packets have up to closeTimeout to leave.
func (p *Path) Close() error {
	p.closeWithError(net.ErrClosed)
	if p.direct != nil {
		p.direct.close()
	}
	p.cancel()
	<-p.done
	p.detours.Wait()
	return nil
}

// LocalAddr returns a placeholder. QUIC uses the local address only in logs, and to check
// whether it is the unspecified address, which the placeholder is not.
func (p *Path) LocalAddr() net.Addr { return Addr(relay.Session{0xfc}) }

// SetDeadline is part of net.PacketConn, as are SetReadDeadline and SetWriteDeadline.
// quic-go sets a deadline in the past to stop its reader when it closes.
func (p *Path) SetDeadline(t time.Time) error { return p.SetReadDeadline(t) }

// SetReadDeadline ends the path when t is in the past.
func (p *Path) SetReadDeadline(t time.Time) error {
	if !t.IsZero() && !t.After(time.Now()) {
		p.closeWithError(net.ErrClosed)
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

// SetReadBuffer does nothing, like SetWriteBuffer; without them quic-go logs a warning.
func (p *Path) SetReadBuffer(int) error { return nil }

// SetWriteBuffer does nothing.
func (p *Path) SetWriteBuffer(int) error { return nil }

// LastError returns why there is no link.
func (p *Path) LastError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
