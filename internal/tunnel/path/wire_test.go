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

// cutSocket is a real socket of a network that may be cut.
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

// end is one end of a tunnel that has no QUIC and no relay.
type end struct {
	*Path
	e       *Peer
	sock    *cutSocket
	take    func(b []byte)
	changes chan struct{}
}

func (x *end) Record(b []byte) { x.take(b) }

func (x *end) Changed() { x.changes <- struct{}{} }

func (x *end) addr() netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), x.sock.Port())
}

// bothKeys returns the keys of the two ends of a tunnel.
func bothKeys(t testing.TB) (client, agent *probe.Keys) {
	t.Helper()
	secret := bytes.Repeat([]byte("0123456789"), 4)
	client, err1 := probe.NewKeys(secret, false)
	agent, err2 := probe.NewKeys(secret, true)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	return client, agent
}

// newEnd makes an end that drops records; both ends of a tunnel have the same session.
func newEnd(t testing.TB, session relay.Session, keys *probe.Keys) *end {
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
	go func() { // as QUIC would
		defer close(read)
		b := make([]byte, udp.MaxDatagram)
		for {
			if _, _, err := p.ReadFrom(b); err != nil {
				return
			}
		}
	}()
	x := &end{Path: p, e: p.peer(session), sock: sock, take: func([]byte) {}, changes: make(chan struct{}, 1000)}
	x.e.keys.Store(keys)
	x.direct.add(keys.ID, x.e)
	t.Cleanup(func() { _ = p.Close(); <-read })
	return x
}

// hear has an end's records taken from now on.
func (x *end) hear(take func([]byte)) {
	if take != nil {
		x.take = take
	}
	r := Records(x)
	x.e.records.Store(&r)
}

// ends returns the two ends of a tunnel that goes directly.
func ends(t testing.TB) (client, agent *end) {
	t.Helper()
	clientKeys, agentKeys := bothKeys(t)
	client, agent = newEnd(t, relay.Session{7}, clientKeys), newEnd(t, relay.Session{7}, agentKeys)
	q := newProber(client.Path, client.e)
	client.e.prober.Store(q)
	go q.run()
	q.offered([]netip.AddrPort{agent.addr()}, false)
	testwait.Until(t, "a direct path", func() bool {
		return client.e.direct.Load() != nil && agent.e.direct.Load() != nil
	})
	return client, agent
}

// wired wants a wire until both ends have it.
func wired(t testing.TB, client, agent *end) {
	t.Helper()
	testwait.Until(t, "wire", func() bool {
		client.RecordWay(client.e).Want()
		agent.RecordWay(agent.e).Want() // which does nothing
		return client.e.wire.Load() != nil && agent.e.wire.Load() != nil
	})
}

// changed waits until an end was told of a change.
func (x *end) changed(t testing.TB, what string) {
	t.Helper()
	select {
	case <-x.changes:
	case <-time.After(testwait.Limit):
		t.Fatalf("was not told that %s", what)
	}
}

// TestWire sends 64 MB each way at once: all arrives in order, and both ends are told
// that there is a wire.
func TestWire(t *testing.T) {
	client, agent := ends(t)
	const all = 64 << 20
	var done sync.WaitGroup
	sent, got := make(map[*end][]byte), make(map[*end]hash.Hash)
	for _, x := range []*end{client, agent} {
		sum, n := sha256.New(), 0
		got[x] = sum
		done.Add(1)
		x.hear(func(b []byte) {
			sum.Write(b)
			if n += len(b); n == all {
				done.Done()
			}
		})
	}
	wired(t, client, agent)
	client.changed(t, "there is a wire")
	agent.changed(t, "there is a wire")
	var mu sync.Mutex
	for i, x := range []*end{client, agent} {
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
				if err := x.e.wire.Load().send(b[:n]); err != nil {
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
		t.Error("other records came than went")
	}
}

// TestWireOfMany has several send at once: no record is torn.
func TestWireOfMany(t *testing.T) {
	client, agent := ends(t)
	const senders, each = 8, 500
	var come atomic.Int32
	agent.hear(func(b []byte) {
		if !bytes.Equal(b, bytes.Repeat(b[:1], 1000+int(b[0]))) {
			t.Error("a record is torn")
		}
		come.Add(1)
	})
	wired(t, client, agent)
	var done sync.WaitGroup
	for i := range senders {
		done.Go(func() {
			b := bytes.Repeat([]byte{byte(i)}, 1000+i)
			for range each {
				if err := client.e.wire.Load().send(b); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	testwait.Until(t, "all records", func() bool { return come.Load() == senders*each })
	for _, b := range [][]byte{nil, make([]byte, MaxRecord+1)} {
		if err := client.e.wire.Load().send(b); err == nil {
			t.Errorf("a record of %d bytes was sent", len(b))
		}
	}
}

// TestWireEndsWithItsPath takes the direct path away in each of the ways in which it
// goes: neither end has a wire, and both know it.
func TestWireEndsWithItsPath(t *testing.T) {
	for name, away := range map[string]func(client, agent *end){
		"the client leaves it": func(client, agent *end) { client.e.prober.Load().failed(agent.addr(), errors.New("test")) },
		"the agent is told": func(client, agent *end) {
			agent.probed(agent.e, client.e.keys.Load().Seal(probe.Message{Kind: probe.RelayOnly}, 0), netip.AddrPort{})
		},
		"another address": func(client, agent *end) {
			agent.follow(agent.e, netip.MustParseAddrPort("127.0.0.2:9"))
		},
		"the client forgets it": func(client, _ *end) { client.Forget(client.e.session) },
		"the agent forgets it":  func(_, agent *end) { agent.Forget(agent.e.session) },
		"the client is closed":  func(client, _ *end) { _ = client.Close() },
		"the agent is closed":   func(_, agent *end) { _ = agent.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			client, agent := ends(t)
			client.hear(nil)
			agent.hear(nil)
			wired(t, client, agent)
			client.changed(t, "there is a wire")
			agent.changed(t, "there is a wire")
			c, a := client.e.wire.Load(), agent.e.wire.Load()
			away(client, agent)
			client.changed(t, "the wire ended")
			agent.changed(t, "the wire ended")
			if c.send([]byte("x")) == nil || a.send([]byte("x")) == nil {
				t.Error("a record was sent by a wire that ended")
			}
			if client.e.wire.Load() == c || agent.e.wire.Load() == a {
				t.Error("a wire that ended is still used")
			}
		})
	}
}

// TestCutWire cuts the network while both ends wait to send more: they do not for long.
func TestCutWire(t *testing.T) {
	client, agent := ends(t)
	stuck := make(chan struct{})
	defer close(stuck)
	for _, x := range []*end{client, agent} {
		x.hear(func([]byte) { <-stuck })
	}
	wired(t, client, agent)
	failed := make(chan *end, 2)
	for _, x := range []*end{client, agent} {
		go func() {
			for w, b := x.e.wire.Load(), make([]byte, MaxRecord); w.send(b) == nil; {
			}
			failed <- x
		}()
	}
	blocked := func(x *end) bool {
		w := x.e.wire.Load()
		since := time.Duration(w.busy.Load())
		return since != 0 && x.since()-since > 50*time.Millisecond
	}
	testwait.Until(t, "sender that waits", func() bool { return blocked(client) && blocked(agent) })
	client.sock.cut.Store(true)
	start := time.Now()
	for range 2 {
		select {
		case <-failed:
		case <-time.After(testwait.Limit):
			t.Fatal("a sender waits forever")
		}
	}
	t.Logf("after %v", time.Since(start))
	if client.e.wire.Load() != nil || agent.e.wire.Load() != nil {
		t.Error("the wire is still used")
	}
}

// TestLostWire sends one record, after all was silent, into a network that was cut.
func TestLostWire(t *testing.T) {
	client, agent := ends(t)
	agent.hear(nil)
	wired(t, client, agent)
	agent.changed(t, "there is a wire")
	client.e.wire.Store(nil) // the client's end lives on and knows nothing of a cut
	client.sock.cut.Store(true)
	w := agent.e.wire.Load()
	testwait.Until(t, "silence", func() bool { return w.idle.Load() && !agent.e.direct.Load().good(agent.since()) })
	_ = w.send([]byte("x"))
	agent.changed(t, "the wire ended")
}

// TestWireAgain loses the wire again and again, and wants another.
func TestWireAgain(t *testing.T) {
	client, agent := ends(t)
	for i := range 3 {
		wired(t, client, agent)
		c, a := client.e.wire.Load(), agent.e.wire.Load()
		_ = []*wire{c, a}[i%2].conn.Close()
		testwait.Until(t, "end", func() bool { return client.e.wire.Load() != c && agent.e.wire.Load() != a })
	}
}

// TestOffers counts the time between offers that nobody answers.
func TestOffers(t *testing.T) {
	client, agent := ends(t)
	agent.e.wiring.dialing.Store(true) // as if it were busy
	now := func() *wireOffer { client.RecordWay(client.e).Want(); return client.e.wiring.offer.Load() }
	testwait.Until(t, "offer", func() bool { return now() != nil })
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		var o *wireOffer
		testwait.Until(t, "path that works", func() bool { o = now(); return o.wait == want*time.Second })
		if again := now(); again != o {
			t.Fatalf("offered again before its time: %+v", again)
		}
		client.e.wiring.offer.CompareAndSwap(o, &wireOffer{path: o.path, wait: o.wait})
	}
	again := &directPath{to: agent.addr()}
	again.prove(client.since())
	client.e.direct.Store(again)
	if o := now(); o.wait != time.Second {
		t.Errorf("%v after another path was chosen", o.wait)
	}
}

// TestNoWires has a socket that is not a real one.
func TestNoWires(t *testing.T) {
	client, agent := ends(t)
	client.direct.tcp = false
	client.RecordWay(client.e).Want()
	relayed := New(Config{})
	relayed.RecordWay(relayed.peer(relay.Session{1})).Want()
	if client.e.wiring.offer.Load() != nil {
		t.Error("offered")
	}
	agent.direct.tcp = false
	offer := probe.Message{Kind: probe.Wire, Tx: 1, Port: 1}
	agent.probed(agent.e, client.e.keys.Load().Seal(offer, 0), client.addr())
	relayed.probed(relayed.peer(relay.Session{1}), nil, client.addr())
	if agent.e.wiring.dialing.Load() {
		t.Error("dialed")
	}
}

// dialClient connects to where a client listens.
func dialClient(t testing.TB, client *end) net.Conn {
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

// silent reports that a connection ends without a word.
func silent(t testing.TB, what string, c net.Conn) {
	t.Helper()
	if n, err := io.Copy(io.Discard, c); n != 0 {
		t.Errorf("%s is answered with %d bytes, %v", what, n, err)
	} else if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		t.Errorf("%s is left alone", what)
	}
}

// TestStrangers connects to a client as who is not its agent does.
func TestStrangers(t *testing.T) {
	client, agent := ends(t)
	agent.hear(nil)
	hello := func(keys *probe.Keys, word uint64) []byte {
		b := keys.Seal(probe.Message{Kind: probe.Hello, Tx: word}, 0)
		return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...)
	}
	stranger, err := probe.NewKeys(bytes.Repeat([]byte("9876543210"), 4), true)
	if err != nil {
		t.Fatal(err)
	}
	keys := agent.e.keys.Load()
	ping := keys.Seal(probe.Message{Kind: probe.Ping, Tx: 5}, 0)
	client.e.wiring.word.Store(5)
	for what, b := range map[string][]byte{
		"rubbish":        bytes.Repeat([]byte{0, 100}, 400),
		"too long":       append([]byte{2, 1}, make([]byte, 513)...),
		"nothing":        {0, 0},
		"half of one":    hello(keys, 5)[:20],
		"a stranger":     hello(stranger, 5),
		"the client":     hello(client.e.keys.Load(), 5),
		"another word":   hello(keys, 6),
		"another probe":  append(binary.BigEndian.AppendUint16(nil, uint16(len(ping))), ping...),
		"no word at all": hello(keys, 0),
	} {
		c := dialClient(t, client)
		_, _ = c.Write(b)
		_ = c.(*net.TCPConn).CloseWrite()
		silent(t, what, c)
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
	silent(t, "a hello of before", again)

	client.Forget(client.e.session)
	client.e.wiring.word.Store(7)
	late := dialClient(t, client)
	_, _ = late.Write(hello(keys, 7))
	silent(t, "a session that is forgotten", late)
}

// TestCrowd has a thousand silent strangers: few are heard, none for long, and then the
// agent.
func TestCrowd(t *testing.T) {
	before := runtime.NumGoroutine()
	client, agent := ends(t)
	var refused atomic.Int32
	var all sync.WaitGroup
	for range 1000 {
		c := dialClient(t, client)
		all.Go(func() {
			silent(t, "a stranger", c)
			refused.Add(1)
		})
	}
	testwait.Until(t, "refusal", func() bool { return refused.Load() >= 1000-maxStrangers })
	all.Wait()
	client.e.wiring.offer.Store(nil)
	wired(t, client, agent)
	_, _ = client.Close(), agent.Close()
	testwait.Until(t, "end of all goroutines", func() bool { return runtime.NumGoroutine() <= before+8 })
}

// TestNewerWire has an agent dial while it has a wire: the newer is used.
func TestNewerWire(t *testing.T) {
	client, agent := ends(t)
	wired(t, client, agent)
	c, a := client.e.wire.Load(), agent.e.wire.Load()
	port, _ := client.direct.wirePort()
	client.e.wiring.word.Store(3)
	if err := agent.dialWire(agent.e, netip.AddrPortFrom(client.addr().Addr(), port), 3); err != nil {
		t.Fatal(err)
	}
	<-c.ended
	<-a.ended
	testwait.Until(t, "wire", func() bool { return client.e.wire.Load() != nil && agent.e.wire.Load() != nil })
	if client.e.wire.Load().send([]byte("x")) != nil || agent.e.wire.Load().send([]byte("x")) != nil {
		t.Error("the newer wire does not work")
	}
}

// TestWireToStranger offers an agent ports where others listen.
func TestWireToStranger(t *testing.T) {
	client, agent := ends(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	offer := func(port uint16, from netip.AddrPort) {
		agent.probed(agent.e, client.e.keys.Load().Seal(probe.Message{Kind: probe.Wire, Tx: 9, Port: port}, 0), from)
	}
	port := netip.MustParseAddrPort(l.Addr().String()).Port()
	offer(port, netip.AddrPort{}) // through the relay
	offer(port, netip.MustParseAddrPort("127.0.0.2:9"))
	offer(0, client.addr())
	if agent.e.wiring.dialing.Load() {
		t.Error("dials what is not its client by the direct path")
	}
	for what, answer := range map[string]func(hello []byte) []byte{
		"echo":    func(hello []byte) []byte { return hello },
		"rubbish": func(hello []byte) []byte { return make([]byte, len(hello)) },
		"another word": func([]byte) []byte {
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
		silent(t, what, c)
		_ = c.Close()
		testwait.Until(t, "end of the dialing", func() bool { return !agent.e.wiring.dialing.Load() })
	}
	if agent.e.wire.Load() != nil {
		t.Error("a stranger has a wire")
	}
}

// FuzzRecords reads anything, in pieces, as records.
func FuzzRecords(f *testing.F) {
	f.Add([]byte{}, uint8(1))
	f.Add([]byte{0, 0}, uint8(1))
	f.Add([]byte{0, 1, 7, 0, 2, 8}, uint8(1))
	f.Add(append([]byte{0x7f, 0xc0}, make([]byte, 2*MaxRecord)...), uint8(100))
	f.Add([]byte{0x7f, 0xc1, 1}, uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, piece uint8) {
		var again []byte
		from := &pieces{b, int(piece) + 1}
		// Who asked for more than is missing of a record would wait forever.
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
			t.Fatalf("other records than there are, %v", err)
		}
		rest := b[len(again):]
		if errors.Is(err, io.EOF) && len(rest) >= 2 && len(rest) >= 2+int(binary.BigEndian.Uint16(rest)) {
			t.Fatalf("%d bytes were not taken", len(rest))
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

// BenchmarkWire sends the biggest records one way, and as many bytes by bare TCP.
func BenchmarkWire(b *testing.B) {
	record := make([]byte, MaxRecord)
	b.Run("wire", func(b *testing.B) {
		client, agent := ends(b)
		var come atomic.Int64
		agent.hear(func([]byte) { come.Add(1) })
		wired(b, client, agent)
		w := client.e.wire.Load()
		b.SetBytes(MaxRecord)
		b.ReportAllocs()
		for b.Loop() {
			if err := w.send(record); err != nil {
				b.Fatal(err)
			}
		}
		testwait.Until(b, "all records", func() bool { return come.Load() == int64(b.N) })
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
