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
	// wireDial is how long an agent may take to dial and to hear its client's hello.
	wireDial = 3 * time.Second
	// helloWait is how long who connects to a client may take to say hello, maxHello how
	// many bytes that may have, and maxStrangers how many there may be who have not.
	helloWait    = 5 * time.Second
	maxHello     = 512
	maxStrangers = 16
	// offerMin and offerMax bound the time between two offers of a client.
	offerMin = time.Second
	offerMax = time.Minute
	// wireLook is how often a wire in use is looked at, wireStall how long it may take
	// nothing although the direct path beside it works.
	wireLook  = 250 * time.Millisecond
	wireStall = 5 * time.Second
)

var errHello = errors.New("the other end did not say hello")

// wiring is what a peer keeps for the making of its wire.
type wiring struct {
	offer   atomic.Pointer[wireOffer] // of a client: the last, or nil
	word    atomic.Uint64             // which a hello must repeat; 0: none is awaited
	dialing atomic.Bool               // of an agent
}

type wireOffer struct {
	path       *directPath // by which it was sent
	wait, next time.Duration
}

// Want reports that there is much to send: a client offers its agent to make a wire, if
// there is none, records could travel by one, and the last offer was long enough ago.
// It does not block.
func (w RecordWay) Want() {
	p, e := w.p, w.e
	d, t := p.direct, e.direct.Load()
	if t == nil || !d.tcp || e.wire.Load() != nil || e.prober.Load() == nil {
		return
	}
	now := p.since()
	if !t.good(now) {
		return
	}
	o, wait := e.wiring.offer.Load(), offerMin
	if o != nil && o.path == t {
		if now < o.next {
			return
		}
		wait = min(2*o.wait, offerMax)
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
		e.wiring.word.CompareAndSwap(0, rand.Uint64()|1)
		p.probe(e, probe.Message{Kind: probe.Wire, Tx: e.wiring.word.Load(), Port: port}, t.to, 0)
	}()
}

// wirePort returns where a client listens for wires, on all addresses: from the first
// call until the path is closed.
func (d *directs) wirePort() (uint16, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.wires == nil {
		var c net.ListenConfig
		c.SetMultipathTCP(false) // a wire is to go where its direct path goes
		l, err := c.Listen(d.p.ended, "tcp", ":0")
		if err != nil {
			return 0, err
		}
		d.wires = l
		context.AfterFunc(d.p.ended, func() { _ = l.Close() })
		go d.accept(l)
	}
	return uint16(d.wires.Addr().(*net.TCPAddr).Port), nil
}

// accept takes connections until the listener is closed. Most that could come are of
// strangers, of whom only so many are heard at once.
func (d *directs) accept(l net.Listener) {
	heard := make(chan struct{}, maxStrangers)
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(wireLook) // such as: there are too many open files
			continue
		}
		select {
		case heard <- struct{}{}:
		default:
			_ = c.Close()
			continue
		}
		go func() {
			defer func() { <-heard }()
			if err := d.greet(c.(*net.TCPConn)); err != nil {
				d.p.c.Log.Debug("refused a wire", "from", c.RemoteAddr(), "error", err)
			}
		}()
	}
}

// greet makes a wire of a connection if an agent says hello on it that was offered
// one, with the word of the offer. A word counts once.
func (d *directs) greet(c *net.TCPConn) error {
	return d.talk(c, helloWait, func() (*Peer, error) {
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
		if err != nil || m.Kind != probe.Hello || m.Tx == 0 || !e.wiring.word.CompareAndSwap(m.Tx, 0) {
			return nil, errHello
		}
		return e, writeHello(c, keys, m.Tx)
	})
}

// wireOffered has an agent dial its client, which said by the direct path in use that
// it listens: so nothing is dialed but an address that the client is known to have.
func (p *Path) wireOffered(e *Peer, m probe.Message, from netip.AddrPort) {
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

func (p *Path) dialWire(e *Peer, to netip.AddrPort, word uint64) error {
	d := net.Dialer{Timeout: wireDial}
	c, err := d.DialContext(p.ended, "tcp", to.String())
	if err != nil {
		return err
	}
	return p.direct.talk(c.(*net.TCPConn), wireDial, func() (*Peer, error) {
		keys := e.keys.Load()
		if err := writeHello(c, keys, word); err != nil {
			return nil, err
		}
		b, err := readHello(c)
		if err != nil {
			return nil, err
		}
		if m, err := keys.Unseal(b); err != nil || m.Kind != probe.Hello || m.Tx != word {
			return nil, errHello
		}
		return e, nil
	})
}

// talk has hellos said on a connection, for so long, and makes it the wire of the peer
// that was found, or closes it.
func (d *directs) talk(c *net.TCPConn, limit time.Duration, hellos func() (*Peer, error)) error {
	ctx, cancel := context.WithTimeout(d.p.ended, limit)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	e, err := hellos()
	if !stop() {
		err = errors.Join(ctx.Err(), err)
	}
	if err == nil {
		err = d.hang(e, c)
	}
	if err != nil {
		_ = c.Close()
	}
	return err
}

func writeHello(c net.Conn, keys *probe.Keys, word uint64) error {
	b := keys.Seal(probe.Message{Kind: probe.Hello, Tx: word}, 0)
	_, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...))
	return err
}

// readHello reads a hello and nothing of what follows.
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

// hang makes a connection on which both ends have said hello the wire of a peer.
func (d *directs) hang(e *Peer, c *net.TCPConn) error {
	t := e.direct.Load()
	dialed := e.prober.Load() == nil
	if t == nil || dialed && t.to.Addr() != c.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap() {
		return errors.New("the direct path is no longer used")
	}
	tcp.Tune(c, wireStall)
	w := &wire{p: d.p, e: e, conn: c, ip: t.to.Addr(), born: d.p.since(), wake: make(chan struct{}, 1), ended: make(chan struct{})}
	d.mu.Lock()
	if d.byID[e.keys.Load().ID] != e {
		d.mu.Unlock()
		return errors.New("the tunnel ended")
	}
	old := e.wire.Swap(w)
	d.mu.Unlock()
	old.end("another took its place")
	go w.read()
	go w.watch()
	return nil
}

// wire is a TCP connection straight between the two ends of a session. It goes by the
// direct path's address, ends with it, and takes with it what is under way.
type wire struct {
	p    *Path
	e    *Peer
	conn *net.TCPConn
	ip   netip.Addr // of the other end
	born time.Duration

	mu   sync.Mutex // held by who sends
	head [2]byte
	both [2][]byte   // what one system call sends: head and a record
	left net.Buffers // of both

	last atomic.Int64 // when something was sent, as path.since
	busy atomic.Int64 // since when something is being sent; 0: nothing is
	idle atomic.Bool  // watch sleeps until something is sent
	wake chan struct{}
	owed time.Duration // since when nothing shows that what was sent arrives; only watch uses it

	once  sync.Once
	ended chan struct{}
	why   string
}

// send sends a record, waiting while the connection is busy.
func (w *wire) send(b []byte) error {
	if len(b) == 0 || len(b) > MaxRecord {
		return tcp.ErrFrame
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := int64(max(1, w.p.since()))
	w.last.Store(now)
	w.busy.Store(now)
	w.used()
	if w.idle.Swap(false) {
		w.wake <- struct{}{} // never full: idle is set again after it was taken
	}
	binary.BigEndian.PutUint16(w.head[:], uint16(len(b)))
	w.both = [2][]byte{w.head[:], b}
	w.left = w.both[:]
	_, err := w.left.WriteTo(w.conn)
	w.both[1] = nil
	w.last.Store(int64(w.p.since()))
	w.busy.Store(0)
	if err != nil {
		w.end(err.Error())
	}
	return err
}

// used has the direct path beside the wire watched: that of an idle tunnel is not, and
// no keep-alive travels by wires.
func (w *wire) used() {
	w.e.moved.Add(fewPackets + 1)
	if q := w.e.prober.Load(); q != nil {
		q.used()
	}
}

// read takes records until the connection ends. It alone says what changed: who ends
// a wire may hold locks.
func (w *wire) read() {
	w.p.c.Log.Debug("a tunnel has a wire", "to", w.conn.RemoteAddr())
	w.e.recordsChanged()
	err := tcp.EachRecord(w.conn, MaxRecord, tcp.WakeAt(w.conn), func(b []byte) {
		w.used()
		w.p.record(w.e, b)
	})
	w.end(err.Error())
	w.p.c.Log.Debug("a tunnel's wire ended", "reason", w.why)
	if w.p.since()-w.born > steady {
		w.e.wiring.offer.Store(nil) // for it worked, and may again
	}
	w.e.recordsChanged()
}

// watch ends the wire when the path is closed, or when it no longer works.
func (w *wire) watch() {
	t := time.NewTimer(0)
	defer t.Stop()
	for {
		select {
		case <-w.p.closed:
			w.end("the tunnel ended")
			return
		case <-w.ended:
			return
		case <-w.wake:
		case <-t.C:
		}
		w.idle.Store(true) // before looking: what is sent now wakes
		why, idle := w.look(w.p.since())
		if why != "" {
			w.end(why)
			return
		}
		if !idle && w.idle.Swap(false) {
			t.Reset(wireLook)
		}
	}
}

// look reports why the wire is to end; "": it works, or is idle.
func (w *wire) look(now time.Duration) (why string, idle bool) {
	t, last, busy := w.e.direct.Load(), time.Duration(w.last.Load()), time.Duration(w.busy.Load())
	if t == nil || t.to.Addr() != w.ip {
		return "the direct path is no longer used", false
	}
	proven := time.Duration(t.proven.Load())
	switch {
	case busy != 0 && now-busy > wireStall:
		return "nothing more can be sent", false
	case busy == 0 && last <= proven:
		w.owed = 0
		return "", true
	case w.owed == 0:
		w.owed = last
	case now-max(w.owed, proven) > trust:
		return "nothing shows that the direct path works", false
	}
	return "", false
}

// end closes a wire, if there is one, with what it has not sent.
func (w *wire) end(why string) {
	if w == nil {
		return
	}
	w.e.wire.CompareAndSwap(w, nil)
	w.once.Do(func() {
		w.why = why
		close(w.ended)
		_ = w.conn.SetLinger(0) // what waits goes another way
		_ = w.conn.Close()
	})
}

// unwire ends the wire of a peer unless it goes to an address.
func (e *Peer) unwire(to netip.Addr) {
	if w := e.wire.Load(); w != nil && w.ip != to {
		w.end("the direct path is no longer used")
	}
}
