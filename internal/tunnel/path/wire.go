package path

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/probe"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/tcp"
)

const (
	// wireDialTimeout bounds an agent's dial, and the wait for its client's hello.
	wireDialTimeout = 3 * time.Second
	// helloTimeout bounds the wait of a client for the hello on a connection that it accepted,
	// maxHello the size of a hello in bytes, and maxStrangers the connections without a hello.
	helloTimeout = 5 * time.Second
	maxHello     = 512
	maxStrangers = 16
	// minOfferInterval and maxOfferInterval bound the time between two offers of a client.
	minOfferInterval = time.Second
	maxOfferInterval = time.Minute
	// wireCheckInterval is the interval between checks of a wire in use. wireStallTimeout is how
	// long a wire may accept no data although the direct path beside it works.
	wireCheckInterval = 250 * time.Millisecond
	wireStallTimeout  = 5 * time.Second
)

var errHello = errors.New("the peer sent an invalid hello message")

// wiring is the state of a peer while its wire is set up.
type wiring struct {
	offer   atomic.Pointer[wireOffer] // the client's last offer, or nil
	nonce   atomic.Uint64             // the nonce that the agent's hello must repeat; 0: no hello is expected
	dialing atomic.Bool               // the agent is dialing
}

type wireOffer struct {
	path *directPath   // that carried the offer
	wait time.Duration // the time between this offer and the next
	next time.Duration // the earliest time of the next offer, as Path.elapsed
}

// SeekWire announces that there is bulk data to send, so that a client offers a wire to its agent.
// It does nothing if there is a wire already, if records could not use a wire, or if the
// last offer is too recent. It does not block.
func (r RecordSender) SeekWire() {
	p, e := r.p, r.e
	d, t := p.direct, e.direct.Load()
	if t == nil || !d.tcp || e.wire.Load() != nil || e.prober.Load() == nil {
		return
	}
	now := p.elapsed()
	if !t.works(now) {
		return
	}
	o, wait := e.wiring.offer.Load(), minOfferInterval
	if o != nil && o.path == t {
		if now < o.next {
			return
		}
		wait = min(2*o.wait, maxOfferInterval)
	}
	if !e.wiring.offer.CompareAndSwap(o, &wireOffer{path: t, wait: wait, next: now + wait}) {
		return
	}
	go func() {
		port, err := d.wirePort()
		if err != nil {
			p.c.Log.Debug("nothing can listen for a wire here", "error", err)
			return
		}
		e.wiring.nonce.CompareAndSwap(0, rand.Uint64()|1)
		p.sendProbe(e, probe.Message{Kind: probe.Wire, Tx: e.wiring.nonce.Load(), Port: port}, t.to, 0)
	}()
}

// wirePort returns the port on which a client listens for wires. The client listens on all
// addresses, from the first call of wirePort until the path is closed.
func (d *directSocket) wirePort() (uint16, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wireListener == nil {
		var c net.ListenConfig
		c.SetMultipathTCP(false) // a wire must use the same addresses as its direct path
		l, err := c.Listen(d.p.ctx, "tcp", ":0")
		if err != nil {
			return 0, err
		}
		d.wireListener = l
		context.AfterFunc(d.p.ctx, func() { _ = l.Close() })
		go d.acceptWires(l)
	}
	return uint16(d.wireListener.Addr().(*net.TCPAddr).Port), nil
}

// acceptWires accepts connections until the listener is closed. Any host may connect, so at
// most maxStrangers connections may wait for a hello at one time.
func (d *directSocket) acceptWires(l net.Listener) {
	pending := make(chan struct{}, maxStrangers)
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(wireCheckInterval) // for example, too many files are open
			continue
		}
		select {
		case pending <- struct{}{}:
		default:
			_ = c.Close()
			continue
		}
		go func() {
			defer func() { <-pending }()
			if err := d.authenticateWire(c.(*net.TCPConn)); err != nil {
				d.p.c.Log.Debug("refused a wire", "from", c.RemoteAddr(), "error", err)
			}
		}()
	}
}

// authenticateWire makes a connection the wire of a peer, if the hello on the connection comes
// from an agent to which a wire was offered. The hello must repeat the nonce of the offer. Each
// nonce is valid once.
func (d *directSocket) authenticateWire(c *net.TCPConn) error {
	return d.attachAfterHellos(c, helloTimeout, func() (*Peer, error) {
		b, err := readHello(c)
		if err != nil {
			return nil, err
		}
		id, _ := probe.Is(b)
		d.mu.RLock()
		e := d.byID[id]
		d.mu.RUnlock()
		if e == nil || e.prober.Load() == nil {
			return nil, errHello
		}
		keys := e.keys.Load()
		m, err := keys.Unseal(b)
		if err != nil || m.Kind != probe.Hello || m.Tx == 0 || !e.wiring.nonce.CompareAndSwap(m.Tx, 0) {
			return nil, errHello
		}
		return e, writeHello(c, keys, m.Tx)
	})
}

// handleWireOffer makes an agent dial the client that offered a wire. The offer must come over
// the direct path in use, so that an agent dials only a proven address of its client.
func (p *Path) handleWireOffer(e *Peer, m probe.Message, from netip.AddrPort) {
	t := e.direct.Load()
	if t == nil || t.to != from || m.Port == 0 || !p.direct.tcp || e.prober.Load() != nil || e.wiring.dialing.Swap(true) {
		return
	}
	go func() {
		defer e.wiring.dialing.Store(false)
		to := netip.AddrPortFrom(from.Addr(), m.Port)
		if err := p.dialWire(e, to, m.Tx); err != nil {
			p.c.Log.Debug("no wire to a client", "to", to, "error", err)
		}
	}()
}

func (p *Path) dialWire(e *Peer, to netip.AddrPort, nonce uint64) error {
	d := net.Dialer{Timeout: wireDialTimeout}
	c, err := d.DialContext(p.ctx, "tcp", to.String())
	if err != nil {
		return err
	}
	return p.direct.attachAfterHellos(c.(*net.TCPConn), wireDialTimeout, func() (*Peer, error) {
		keys := e.keys.Load()
		if err := writeHello(c, keys, nonce); err != nil {
			return nil, err
		}
		b, err := readHello(c)
		if err != nil {
			return nil, err
		}
		if m, err := keys.Unseal(b); err != nil || m.Kind != probe.Hello || m.Tx != nonce {
			return nil, errHello
		}
		return e, nil
	})
}

// attachAfterHellos runs hellos on a connection, and makes the connection the wire of the peer
// that hellos returned. The connection is closed on an error, or if hellos exceeds the limit.
func (d *directSocket) attachAfterHellos(c *net.TCPConn, limit time.Duration, hellos func() (*Peer, error)) error {
	ctx, cancel := context.WithTimeout(d.p.ctx, limit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	e, err := hellos()
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err == nil {
		err = d.attachWire(e, c)
	}
	if err != nil {
		_ = c.Close()
	}
	return err
}

func writeHello(c net.Conn, keys *probe.Keys, nonce uint64) error {
	b := keys.Seal(probe.Message{Kind: probe.Hello, Tx: nonce}, 0)
	_, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...))
	return err
}

// readHello reads a hello, and no byte after it.
func readHello(c net.Conn) ([]byte, error) {
	var b [maxHello]byte
	if _, err := io.ReadFull(c, b[:2]); err != nil {
		return nil, err
	}
	n := int(binary.BigEndian.Uint16(b[:]))
	if n > maxHello {
		return nil, errHello
	}
	_, err := io.ReadFull(c, b[:n])
	return b[:n], err
}

// attachWire makes a connection the wire of a peer. Both ends must have sent their hellos.
func (d *directSocket) attachWire(e *Peer, c *net.TCPConn) error {
	t := e.direct.Load()
	dialed := e.prober.Load() == nil
	if t == nil || dialed && t.to.Addr() != c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap() {
		return errors.New("the direct path is no longer used")
	}
	tcp.Tune(c, wireStallTimeout)
	w := &wire{p: d.p, e: e, conn: c, ip: t.to.Addr(), created: d.p.elapsed(), wake: make(chan struct{}, 1), ended: make(chan struct{})}
	d.mu.Lock()
	if d.byID[e.keys.Load().ID] != e {
		d.mu.Unlock()
		return errors.New("the tunnel ended")
	}
	old := e.wire.Swap(w)
	d.mu.Unlock()
	old.close("another took its place")
	go w.readRecords()
	go w.watch()
	return nil
}

// wire is a TCP connection directly between the two ends of a session. It uses the address of
// the direct path and ends with that path. Records in flight are then lost.
type wire struct {
	p       *Path
	e       *Peer
	conn    *net.TCPConn
	ip      netip.Addr // of the other end
	created time.Duration

	mu      sync.Mutex // the sender holds it
	header  [2]byte
	buffers [2][]byte   // the data of one system call: header and a record
	unsent  net.Buffers // the rest of buffers

	lastSend     atomic.Int64 // when data was last sent, as Path.elapsed
	sendingSince atomic.Int64 // when the current send began; 0: no send is running
	idle         atomic.Bool  // watch sleeps until data is sent
	wake         chan struct{}
	// unprovenSince is when the first data was sent for which nothing shows that it arrives.
	// Only watch uses it.
	unprovenSince time.Duration

	once  sync.Once
	ended chan struct{}
	why   string // why the wire ended
}

// sendRecord sends a record and waits while the connection is busy.
func (w *wire) sendRecord(b []byte) error {
	if len(b) == 0 || len(b) > MaxRecord {
		return tcp.ErrFrame
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := int64(max(1, w.p.elapsed()))
	w.lastSend.Store(now)
	w.sendingSince.Store(now)
	w.keepActive()
	if w.idle.Swap(false) {
		w.wake <- struct{}{} // never blocks: watch sets idle only after it has received
	}
	binary.BigEndian.PutUint16(w.header[:], uint16(len(b)))
	w.buffers = [2][]byte{w.header[:], b}
	w.unsent = w.buffers[:]
	_, err := w.unsent.WriteTo(w.conn)
	w.buffers[1] = nil
	w.lastSend.Store(int64(w.p.elapsed()))
	w.sendingSince.Store(0)
	if err != nil {
		w.close(err.Error())
	}
	return err
}

// keepActive keeps the tunnel from becoming idle. The direct path of an idle tunnel is not
// monitored, and wires carry no keep-alives of their own.
func (w *wire) keepActive() {
	w.e.moved.Add(maxIdlePackets + 1)
	if q := w.e.prober.Load(); q != nil {
		q.wakeIfIdle()
	}
}

// readRecords reads records until the connection ends. Only readRecords calls
// notifyRecordsChanged, because callers of close may hold locks.
func (w *wire) readRecords() {
	w.p.c.Log.Debug("a tunnel has a wire", "to", w.conn.RemoteAddr())
	w.e.notifyRecordsChanged()
	err := tcp.EachRecord(w.conn, MaxRecord, tcp.WakeAt(w.conn), func(b []byte) {
		w.keepActive()
		w.p.receiveRecord(w.e, b)
	})
	w.close(err.Error())
	w.p.c.Log.Debug("a tunnel's wire ended", "reason", w.why)
	if w.p.elapsed()-w.created > stableAfter {
		w.e.wiring.offer.Store(nil) // the wire worked, so the next offer need not wait
	}
	w.e.notifyRecordsChanged()
}

// watch closes the wire when the path is closed, or when the wire no longer works.
func (w *wire) watch() {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-w.p.closed:
			w.close("the tunnel ended")
			return
		case <-w.ended:
			return
		case <-w.wake:
		case <-t.C:
		}
		w.idle.Store(true) // before the check, so that data sent during it wakes watch
		why, idle := w.checkHealth(w.p.elapsed())
		if why != "" {
			w.close(why)
			return
		}
		if !idle && w.idle.Swap(false) {
			t.Reset(wireCheckInterval)
		}
	}
}

// checkHealth returns why the wire must end, or "" if it works or is idle.
func (w *wire) checkHealth(now time.Duration) (why string, idle bool) {
	t, last, busy := w.e.direct.Load(), time.Duration(w.lastSend.Load()), time.Duration(w.sendingSince.Load())
	if t == nil || t.to.Addr() != w.ip {
		return "the direct path is no longer used", false
	}
	proven := time.Duration(t.proven.Load())
	switch {
	case busy != 0 && now-busy > wireStallTimeout:
		return "nothing more can be sent", false
	case busy == 0 && last <= proven:
		w.unprovenSince = 0
		return "", true
	case w.unprovenSince == 0:
		w.unprovenSince = last
	case now-max(w.unprovenSince, proven) > directTimeout:
		return "nothing shows that the direct path works", false
	}
	return "", false
}

// close closes a wire and discards unsent data; why is the reason. It does nothing if w is nil.
func (w *wire) close(why string) {
	if w == nil {
		return
	}
	w.e.wire.CompareAndSwap(w, nil)
	w.once.Do(func() {
		w.why = why
		close(w.ended)
		_ = w.conn.SetLinger(0) // unsent records travel over another path
		_ = w.conn.Close()
	})
}

// closeWireUnless closes the wire of a peer unless the wire goes to an address.
func (e *Peer) closeWireUnless(to netip.Addr) {
	if w := e.wire.Load(); w != nil && w.ip != to {
		w.close("the direct path is no longer used")
	}
}
