package path

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/probe"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/tcp"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/udp"
)

// cutSocket is a real socket that drops everything it sends once cut is set.
type cutSocket struct {
	udp.Socket
	cut atomic.Bool
}

func (s *cutSocket) Write(b []byte, seg int, to netip.AddrPort) error {
	if s.cut.Load() {
		return nil
	}
	return s.Socket.Write(b, seg, to)
}

// tunnelEnd is one end of a tunnel that has no QUIC and no relay.
type tunnelEnd struct {
	*Path
	e       *Peer
	sock    *cutSocket
	receive func(b []byte)
	changes chan struct{}
}

func (x *tunnelEnd) Record(b []byte) { x.receive(b) }

func (x *tunnelEnd) Changed() { x.changes <- struct{}{} }

func (x *tunnelEnd) addr() netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), x.sock.Port())
}

// newKeyPair returns the probe keys of the two ends of a tunnel.
func newKeyPair(t testing.TB) (client, agent *probe.Keys) {
	t.Helper()
	secret := bytes.Repeat([]byte("0123456789"), 4)
	client, err1 := probe.NewKeys(secret, false)
	agent, err2 := probe.NewKeys(secret, true)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return client, agent
}

// newEnd returns an end that drops records. Both ends of a tunnel must have the same session.
func newEnd(t testing.TB, session relay.Session, keys *probe.Keys) *tunnelEnd {
	t.Helper()
	real, err := udp.Listen()
	if err != nil {
		t.Fatal(err)
	}
	sock := &cutSocket{Socket: real}
	p := New(Config{
		Relay: func(ctx context.Context) (relay.Link, error) { <-ctx.Done(); return nil, ctx.Err() },
		Final: func(error) bool { return false }, Log: slog.New(slog.DiscardHandler), Outage: time.Hour,
	})
	p.OpenDirect(sock, nil, func() []netip.Addr { return nil })
	p.direct.tcp = true
	p.Start()
	read := make(chan struct{})
	go func() { // reads as QUIC would
		defer close(read)
		b := make([]byte, udp.MaxDatagram)
		for {
			if _, _, err := p.ReadFrom(b); err != nil {
				return
			}
		}
	}()
	x := &tunnelEnd{Path: p, e: p.peer(session), sock: sock, receive: func([]byte) {}, changes: make(chan struct{}, 1000)}
	x.e.keys.Store(keys)
	x.direct.addPeer(keys.ID, x.e)
	t.Cleanup(func() { _ = p.Close(); <-read })
	return x
}

// receiveRecords delivers an end's records to take from now on; nil keeps the current function.
func (x *tunnelEnd) receiveRecords(take func([]byte)) {
	if take != nil {
		x.receive = take
	}
	r := Records(x)
	x.e.records.Store(&r)
}

// newTunnel returns the two ends of a tunnel with a direct path.
func newTunnel(t testing.TB) (client, agent *tunnelEnd) {
	t.Helper()
	clientKeys, agentKeys := newKeyPair(t)
	client, agent = newEnd(t, relay.Session{7}, clientKeys), newEnd(t, relay.Session{7}, agentKeys)
	q := newProber(client.Path, client.e)
	client.e.prober.Store(q)
	go q.run()
	q.addCandidates([]netip.AddrPort{agent.addr()}, false)
	testwait.Until(t, "a direct path", func() bool {
		return client.e.direct.Load() != nil && agent.e.direct.Load() != nil
	})
	return client, agent
}

// waitForWire calls Want until both ends have a wire.
func waitForWire(t testing.TB, client, agent *tunnelEnd) {
	t.Helper()
	testwait.Until(t, "wire", func() bool {
		client.RecordSender(client.e).SeekWire()
		agent.RecordSender(agent.e).SeekWire() // does nothing on an agent
		return client.e.wire.Load() != nil && agent.e.wire.Load() != nil
	})
}

// waitForChange waits until Changed is called on an end.
func (x *tunnelEnd) waitForChange(t testing.TB, what string) {
	t.Helper()
	select {
	case <-x.changes:
	case <-time.After(testwait.Limit):
		t.Fatalf("Changed was not called after %s", what)
	}
}

// TestWire sends 64 MiB in each direction at the same time. All records must arrive in order,
// and Changed must be called on both ends when the wire is up.
func TestWire(t *testing.T) {
	client, agent := newTunnel(t)
	const all = 64 << 20
	var done sync.WaitGroup
	sent, got := make(map[*tunnelEnd][]byte), make(map[*tunnelEnd]hash.Hash)
	for _, x := range []*tunnelEnd{client, agent} {
		sum, n := sha256.New(), 0
		got[x] = sum
		done.Add(1)
		x.receiveRecords(func(b []byte) {
			sum.Write(b)
			if n += len(b); n == all {
				done.Done()
			}
		})
	}
	waitForWire(t, client, agent)
	client.waitForChange(t, "the wire was set up")
	agent.waitForChange(t, "the wire was set up")
	var mu sync.Mutex
	for i, x := range []*tunnelEnd{client, agent} {
		done.Go(func() {
			r, sum := rand.New(rand.NewPCG(uint64(i), 1)), sha256.New()
			b := make([]byte, MaxRecord)
			for left := all; left > 0; {
				n := min(left, 1+r.IntN(MaxRecord))
				for j := 0; j < n; j += 61 {
					b[j] = byte(r.Uint32())
				}
				sum.Write(b[:n])
				left -= n
				if err := x.e.wire.Load().sendRecord(b[:n]); err != nil {
					t.Error(err)
					return
				}
			}
			mu.Lock()
			defer mu.Unlock()
			sent[x] = sum.Sum(nil)
		})
	}
	done.Wait()
	if !bytes.Equal(sent[client], got[agent].Sum(nil)) || !bytes.Equal(sent[agent], got[client].Sum(nil)) {
		t.Error("the records received differ from the records sent")
	}
}

// TestWireOfMany checks that records of concurrent senders are not interleaved.
func TestWireOfMany(t *testing.T) {
	client, agent := newTunnel(t)
	const senders, each = 8, 500
	var received atomic.Int32
	agent.receiveRecords(func(b []byte) {
		if !bytes.Equal(b, bytes.Repeat(b[:1], 1000+int(b[0]))) {
			t.Error("a record has bytes of another record")
		}
		received.Add(1)
	})
	waitForWire(t, client, agent)
	var done sync.WaitGroup
	for i := range senders {
		done.Go(func() {
			b := bytes.Repeat([]byte{byte(i)}, 1000+i)
			for range each {
				if err := client.e.wire.Load().sendRecord(b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	testwait.Until(t, "all records", func() bool { return received.Load() == senders*each })
	for _, b := range [][]byte{nil, make([]byte, MaxRecord+1)} {
		if err := client.e.wire.Load().sendRecord(b); err == nil {
			t.Errorf("a record of %d bytes was sent", len(b))
		}
	}
}

// TestWireEndsWithItsPath ends the direct path in each possible way. Neither end may keep the
// wire, and Changed must be called on both ends.
func TestWireEndsWithItsPath(t *testing.T) {
	for name, away := range map[string]func(client, agent *tunnelEnd){
		"the client leaves it": func(client, agent *tunnelEnd) { client.e.prober.Load().leavePath(agent.addr(), errors.New("test")) },
		"the agent is notified": func(client, agent *tunnelEnd) {
			agent.handleProbe(agent.e, client.e.keys.Load().Seal(probe.Message{Kind: probe.RelayOnly}, 0), netip.AddrPort{})
		},
		"another address": func(client, agent *tunnelEnd) {
			agent.followDirect(agent.e, netip.MustParseAddrPort("127.0.0.2:9"))
		},
		"the client forgets it": func(client, _ *tunnelEnd) { client.Forget(client.e.session) },
		"the agent forgets it":  func(_, agent *tunnelEnd) { agent.Forget(agent.e.session) },
		"the client is closed":  func(client, _ *tunnelEnd) { _ = client.Close() },
		"the agent is closed":   func(_, agent *tunnelEnd) { _ = agent.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			client, agent := newTunnel(t)
			client.receiveRecords(nil)
			agent.receiveRecords(nil)
			waitForWire(t, client, agent)
			client.waitForChange(t, "the wire was set up")
			agent.waitForChange(t, "the wire was set up")
			c, a := client.e.wire.Load(), agent.e.wire.Load()
			away(client, agent)
			client.waitForChange(t, "the end of the wire")
			agent.waitForChange(t, "the end of the wire")
			if c.sendRecord([]byte("x")) == nil || a.sendRecord([]byte("x")) == nil {
				t.Error("a record was sent over a wire that ended")
			}
			if client.e.wire.Load() == c || agent.e.wire.Load() == a {
				t.Error("a wire that ended is still used")
			}
		})
	}
}

// TestCutWire cuts the network while senders on both ends are blocked. The senders must return
// soon.
func TestCutWire(t *testing.T) {
	client, agent := newTunnel(t)
	stuck := make(chan struct{})
	defer close(stuck)
	for _, x := range []*tunnelEnd{client, agent} {
		x.receiveRecords(func([]byte) { <-stuck })
	}
	waitForWire(t, client, agent)
	failed := make(chan *tunnelEnd, 2)
	for _, x := range []*tunnelEnd{client, agent} {
		go func() {
			for w, b := x.e.wire.Load(), make([]byte, MaxRecord); w.sendRecord(b) == nil; {
			}
			failed <- x
		}()
	}
	blocked := func(x *tunnelEnd) bool {
		w := x.e.wire.Load()
		since := time.Duration(w.sendingSince.Load())
		return since != 0 && x.elapsed()-since > 50*time.Millisecond
	}
	testwait.Until(t, "sender that waits", func() bool { return blocked(client) && blocked(agent) })
	client.sock.cut.Store(true)
	start := time.Now()
	for range 2 {
		select {
		case <-failed:
		case <-time.After(testwait.Limit):
			t.Fatal("a sender is still blocked")
		}
	}
	t.Logf("after %v", time.Since(start))
	if client.e.wire.Load() != nil || agent.e.wire.Load() != nil {
		t.Error("the wire is still used")
	}
}

// TestLostWire sends one record on an idle wire after the network was cut.
func TestLostWire(t *testing.T) {
	client, agent := newTunnel(t)
	agent.receiveRecords(nil)
	waitForWire(t, client, agent)
	agent.waitForChange(t, "the wire was set up")
	client.e.wire.Store(nil) // so that the client does not close its end of the wire
	client.sock.cut.Store(true)
	w := agent.e.wire.Load()
	testwait.Until(t, "silence", func() bool { return w.idle.Load() && !agent.e.direct.Load().works(agent.elapsed()) })
	_ = w.sendRecord([]byte("x"))
	agent.waitForChange(t, "the end of the wire")
}

// TestWireAgain closes the wire several times and checks that a new wire replaces it.
func TestWireAgain(t *testing.T) {
	client, agent := newTunnel(t)
	for i := range 3 {
		waitForWire(t, client, agent)
		c, a := client.e.wire.Load(), agent.e.wire.Load()
		_ = []*wire{c, a}[i%2].conn.Close()
		testwait.Until(t, "end", func() bool { return client.e.wire.Load() != c && agent.e.wire.Load() != a })
	}
}

// TestOffers checks the time between offers that are not answered.
func TestOffers(t *testing.T) {
	client, agent := newTunnel(t)
	agent.e.wiring.dialing.Store(true) // so that the agent ignores offers
	now := func() *wireOffer { client.RecordSender(client.e).SeekWire(); return client.e.wiring.offer.Load() }
	testwait.Until(t, "offer", func() bool { return now() != nil })
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		var o *wireOffer
		testwait.Until(t, "path that works", func() bool { o = now(); return o.wait == want*time.Second })
		if again := now(); again != o {
			t.Fatalf("offered again too early: %+v", again)
		}
		client.e.wiring.offer.CompareAndSwap(o, &wireOffer{path: o.path, wait: o.wait})
	}
	again := &directPath{to: agent.addr()}
	again.markProven(client.elapsed())
	client.e.direct.Store(again)
	if o := now(); o.wait != time.Second {
		t.Errorf("waits %v after another path was chosen", o.wait)
	}
}

// TestNoWires checks that ends without a network for TCP neither offer nor dial wires.
func TestNoWires(t *testing.T) {
	client, agent := newTunnel(t)
	client.direct.tcp = false
	client.RecordSender(client.e).SeekWire()
	relayed := New(Config{})
	relayed.RecordSender(relayed.peer(relay.Session{1})).SeekWire()
	if client.e.wiring.offer.Load() != nil {
		t.Error("the client offered a wire")
	}
	agent.direct.tcp = false
	offer := probe.Message{Kind: probe.Wire, Tx: 1, Port: 1}
	agent.handleProbe(agent.e, client.e.keys.Load().Seal(offer, 0), client.addr())
	relayed.handleProbe(relayed.peer(relay.Session{1}), nil, client.addr())
	if agent.e.wiring.dialing.Load() {
		t.Error("the agent dialed")
	}
}

// dialClient connects to the port on which a client listens for wires.
func dialClient(t testing.TB, client *tunnelEnd) net.Conn {
	t.Helper()
	port, err := client.direct.wirePort()
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", netip.AddrPortFrom(client.addr().Addr(), port).String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// expectClosed checks that the other end closes a connection and sends nothing.
func expectClosed(t testing.TB, what string, c net.Conn) {
	t.Helper()
	if n, err := io.Copy(io.Discard, c); n != 0 {
		t.Errorf("%s: received %d bytes, %v", what, n, err)
	} else if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		t.Errorf("%s: the connection was not closed", what)
	}
}

// TestStrangers connects to a client with hellos that do not come from its agent, or that are
// not valid.
func TestStrangers(t *testing.T) {
	client, agent := newTunnel(t)
	agent.receiveRecords(nil)
	hello := func(keys *probe.Keys, nonce uint64) []byte {
		b := keys.Seal(probe.Message{Kind: probe.Hello, Tx: nonce}, 0)
		return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)
	}
	stranger, err := probe.NewKeys(bytes.Repeat([]byte("9876543210"), 4), true)
	if err != nil {
		t.Fatal(err)
	}
	keys := agent.e.keys.Load()
	ping := keys.Seal(probe.Message{Kind: probe.Ping, Tx: 5}, 0)
	client.e.wiring.nonce.Store(5)
	for what, b := range map[string][]byte{
		"not a probe":   bytes.Repeat([]byte{0, 100}, 400),
		"too long":      append([]byte{2, 1}, make([]byte, 513)...),
		"nothing":       {0, 0},
		"half of one":   hello(keys, 5)[:20],
		"other keys":    hello(stranger, 5),
		"client's keys": hello(client.e.keys.Load(), 5),
		"another nonce": hello(keys, 6),
		"another probe": append(binary.BigEndian.AppendUint16(nil, uint16(len(ping))), ping...),
		"no nonce":      hello(keys, 0),
	} {
		c := dialClient(t, client)
		_, _ = c.Write(b)
		_ = c.(*net.TCPConn).CloseWrite()
		expectClosed(t, what, c)
	}
	if client.e.wire.Load() != nil {
		t.Fatal("a stranger has a wire")
	}
	once := hello(keys, 5)
	c := dialClient(t, client)
	_, _ = c.Write(once)
	answer, err := readHello(c)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := keys.Unseal(answer); err != nil || m.Kind != probe.Hello || m.Tx != 5 {
		t.Errorf("answered %+v, %v", m, err)
	}
	testwait.Until(t, "wire", func() bool { return client.e.wire.Load() != nil })
	again := dialClient(t, client)
	_, _ = again.Write(once)
	expectClosed(t, "a replayed hello", again)

	client.Forget(client.e.session)
	client.e.wiring.nonce.Store(7)
	late := dialClient(t, client)
	_, _ = late.Write(hello(keys, 7))
	expectClosed(t, "a hello for a forgotten session", late)
}

// TestCrowd opens a thousand connections that send no hello. At most maxStrangers may wait at
// one time, none for long. Then the agent must still get a wire.
func TestCrowd(t *testing.T) {
	before := runtime.NumGoroutine()
	client, agent := newTunnel(t)
	var refused atomic.Int32
	var all sync.WaitGroup
	for range 1000 {
		c := dialClient(t, client)
		all.Go(func() {
			expectClosed(t, "a stranger", c)
			refused.Add(1)
		})
	}
	testwait.Until(t, "refusal", func() bool { return refused.Load() >= 1000-maxStrangers })
	all.Wait()
	client.e.wiring.offer.Store(nil)
	waitForWire(t, client, agent)
	_, _ = client.Close(), agent.Close()
	testwait.Until(t, "end of all goroutines", func() bool { return runtime.NumGoroutine() <= before+8 })
}

// TestNewerWire lets an agent dial while it has a wire. The newer wire must replace the older.
func TestNewerWire(t *testing.T) {
	client, agent := newTunnel(t)
	waitForWire(t, client, agent)
	c, a := client.e.wire.Load(), agent.e.wire.Load()
	port, _ := client.direct.wirePort()
	client.e.wiring.nonce.Store(3)
	if err := agent.dialWire(agent.e, netip.AddrPortFrom(client.addr().Addr(), port), 3); err != nil {
		t.Fatal(err)
	}
	<-c.ended
	<-a.ended
	testwait.Until(t, "wire", func() bool { return client.e.wire.Load() != nil && agent.e.wire.Load() != nil })
	if client.e.wire.Load().sendRecord([]byte("x")) != nil || agent.e.wire.Load().sendRecord([]byte("x")) != nil {
		t.Error("the newer wire does not work")
	}
}

// TestWireToStranger offers an agent ports on which no client of the agent listens.
func TestWireToStranger(t *testing.T) {
	client, agent := newTunnel(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	offer := func(port uint16, from netip.AddrPort) {
		agent.handleProbe(agent.e, client.e.keys.Load().Seal(probe.Message{Kind: probe.Wire, Tx: 9, Port: port}, 0), from)
	}
	port := netip.MustParseAddrPort(l.Addr().String()).Port()
	offer(port, netip.AddrPort{}) // through the relay
	offer(port, netip.MustParseAddrPort("127.0.0.2:9"))
	offer(0, client.addr())
	if agent.e.wiring.dialing.Load() {
		t.Error("the agent dials although the offer did not come over the direct path, or has no port")
	}
	for what, answer := range map[string]func(hello []byte) []byte{
		"echo":  func(hello []byte) []byte { return hello },
		"zeros": func(hello []byte) []byte { return make([]byte, len(hello)) },
		"another nonce": func([]byte) []byte {
			return client.e.keys.Load().Seal(probe.Message{Kind: probe.Hello, Tx: 10}, 0)
		},
	} {
		offer(port, client.addr())
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		b, err := readHello(c)
		if err != nil {
			t.Fatal(err)
		}
		b = answer(b)
		_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...))
		expectClosed(t, what, c)
		_ = c.Close()
		testwait.Until(t, "end of the dialing", func() bool { return !agent.e.wiring.dialing.Load() })
	}
	if agent.e.wire.Load() != nil {
		t.Error("a stranger has a wire")
	}
}

// FuzzRecords reads arbitrary bytes as records, a few bytes with each read.
func FuzzRecords(f *testing.F) {
	f.Add([]byte{}, uint8(1))
	f.Add([]byte{0, 0}, uint8(1))
	f.Add([]byte{0, 1, 7, 0, 2, 8}, uint8(1))
	f.Add(append([]byte{0x7f, 0xc0}, make([]byte, 2*MaxRecord)...), uint8(100))
	f.Add([]byte{0x7f, 0xc1, 1}, uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		var again []byte
		from := &pieces{b, int(piece) + 1}
		// A reader that waits for more bytes than a record lacks would wait forever.
		wakeAt := func(n int) {
			read, useful := b[len(again):len(b)-len(from.left)], 1
			if len(read) >= 2 {
				useful = 2 + int(binary.BigEndian.Uint16(read)) - len(read)
			}
			if n != useful {
				t.Fatalf("woken at %d bytes, where %d are of use", n, useful)
			}
		}
		err := tcp.EachRecord(from, MaxRecord, wakeAt, func(r []byte) {
			if len(r) == 0 || len(r) > MaxRecord {
				t.Fatalf("a record of %d bytes", len(r))
			}
			again = append(binary.BigEndian.AppendUint16(again, uint16(len(r))), r...)
		})
		if err == nil || !bytes.HasPrefix(b, again) {
			t.Fatalf("the records read differ from the input, %v", err)
		}
		rest := b[len(again):]
		if errors.Is(err, io.EOF) && len(rest) >= 2 && len(rest) >= 2+int(binary.BigEndian.Uint16(rest)) {
			t.Fatalf("%d bytes with a full record were not read", len(rest))
		}
	})
}

// pieces returns a few bytes with each read.
type pieces struct {
	left []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.left[:min(p.size, len(p.left))])
	p.left = p.left[n:]
	return n, nil
}

// BenchmarkWire measures records of the maximum size in one direction, and the same amount of
// data over plain TCP.
func BenchmarkWire(b *testing.B) {
	record := make([]byte, MaxRecord)
	b.Run("wire", func(b *testing.B) {
		client, agent := newTunnel(b)
		var received atomic.Int64
		agent.receiveRecords(func([]byte) { received.Add(1) })
		waitForWire(b, client, agent)
		w := client.e.wire.Load()
		b.SetBytes(MaxRecord)
		b.ReportAllocs()
		for b.Loop() {
			if err := w.sendRecord(record); err != nil {
				b.Fatal(err)
			}
		}
		testwait.Until(b, "all records", func() bool { return received.Load() == int64(b.N) })
	})
	b.Run("tcp", func(b *testing.B) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		defer l.Close()
		out, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		in, err := l.Accept()
		if err != nil {
			b.Fatal(err)
		}
		var done sync.WaitGroup
		done.Go(func() {
			for buf := make([]byte, tcp.BufferSize); err == nil; {
				_, err = in.Read(buf)
			}
		})
		b.SetBytes(MaxRecord)
		for b.Loop() {
			if _, err := out.Write(record); err != nil {
				b.Fatal(err)
			}
		}
		_ = out.Close()
		done.Wait()
	})
}
