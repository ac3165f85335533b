package tunnel

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/udp"
)

// air is a UDP network in memory, in simulated time.
type air struct {
	mu    sync.Mutex
	socks map[netip.AddrPort]*airSocket
	lost  func(to netip.AddrPort, size int) bool // what does not arrive
	delay time.Duration
}

type airSocket struct {
	air    *air
	addr   netip.AddrPort
	in     chan airPacket
	closed chan struct{}
	once   sync.Once
}

type airPacket struct {
	b    []byte
	from netip.AddrPort
}

func (n *air) socket(addr string) *airSocket {
	s := &airSocket{air: n, addr: netip.MustParseAddrPort(addr), in: make(chan airPacket, 4096), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.socks[s.addr] = s
	return s
}

func (n *air) lose(f func(to netip.AddrPort, size int) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lost = f
}

func (s *airSocket) Read(b []byte) (n, seg int, from netip.AddrPort, err error) {
	select {
	case p := <-s.in:
		return copy(b, p.b), 0, p.from, nil
	case <-s.closed:
		return 0, 0, from, net.ErrClosed
	}
}

func (s *airSocket) Write(b []byte, seg int, to netip.AddrPort) error {
	return udp.EachSegment(b, seg, func(p []byte) error {
		s.air.mu.Lock()
		dest, lost, delay := s.air.socks[to], s.air.lost != nil && s.air.lost(to, len(p)), s.air.delay
		s.air.mu.Unlock()
		if dest == nil || lost {
			return nil
		}
		packet := airPacket{slices.Clone(p), s.addr}
		time.AfterFunc(delay, func() {
			select {
			case dest.in <- packet:
			default:
			}
		})
		return nil
	})
}

func (s *airSocket) Port() uint16 { return s.addr.Port() }

func (s *airSocket) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// wire is a relay for one agent and one client, each message of which takes a
// while.
type wire struct {
	mu            sync.Mutex
	agent, client relay.Link
	delay         time.Duration
}

func (w *wire) dialer(end *relay.Link, other *relay.Link) Relay {
	return func(context.Context) (relay.Link, error) {
		mine, theirs := relay.LinkPipe()
		go func() {
			for {
				m, err := theirs.Receive()
				if err != nil {
					return
				}
				time.Sleep(w.delay)
				w.mu.Lock()
				if m.Text { // the hello of a link that is used
					*end = theirs
				}
				to := *other
				w.mu.Unlock()
				if !m.Text && to != nil {
					_ = to.Send(false, m.Data)
				}
				m.Release()
			}
		}()
		return mine, nil
	}
}

const agentAddr, clientAddr = "10.0.0.2:2222", "10.0.0.1:1111"

// flight is a client and an agent that echoes, with both kinds of paths.
func flight(t *testing.T, change func(agent *ListenConfig, client *DialConfig)) (*air, *Conn) {
	// quic-go counts time from the start of the process, and takes no time for
	// "none": simulated time, which begins in 2000, must be later than it.
	time.Sleep(40 * 365 * 24 * time.Hour)
	t.Helper()
	n := &air{socks: make(map[netip.AddrPort]*airSocket), delay: time.Millisecond}
	w := &wire{delay: 5 * time.Millisecond}
	at := func(addr string) Direct {
		s := n.socket(addr)
		return Direct{sock: s, local: func() []netip.Addr { return []netip.Addr{s.addr.Addr()} }}
	}
	authority, err := NewAuthority(make([]byte, SeedSize))
	must(t, err)
	identity, err := NewIdentity()
	must(t, err)
	agentID := uuid.New()
	agent := ListenConfig{
		Identity: identity, AgentID: agentID, ClientCA: authority.Certificate(), Relay: w.dialer(&w.agent, &w.client), Direct: at(agentAddr),
		Handle: func(_ context.Context, r *Request) {
			if s, err := r.Accept(); err == nil {
				_, _ = io.Copy(s, s)
				_ = s.CloseWrite()
			}
		},
	}
	client := DialConfig{AgentCertificate: identity.Certificate(), Relay: w.dialer(&w.client, &w.agent), Direct: at(clientAddr)}
	if change != nil {
		change(&agent, &client)
	}
	l, err := Listen(agent)
	must(t, err)
	must(t, l.Start(t.Context()))
	id, err := NewIdentity()
	must(t, err)
	client.Identity = id
	client.Certificate, err = authority.Issue(id.PublicKey(), Grant{AgentID: agentID, Actions: []string{KindSSH}}, time.Now())
	must(t, err)
	c, err := Dial(t.Context(), client)
	must(t, err)
	t.Cleanup(func() {
		_ = c.Close()
		must(t, l.Stop(context.Background()))
		time.Sleep(time.Second) // what is still under way
	})
	return n, c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// direct waits for a direct path.
func direct(t *testing.T, c *Conn, limit time.Duration) {
	t.Helper()
	for start := time.Now(); c.Path() != WayDirect; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > limit {
			t.Fatalf("not direct after %v: %+v", limit, c.Way())
		}
	}
}

// TestDirectIsFoundAndLeft has the direct path break again and again under full
// load, in one direction or both: every byte arrives once and in order, never is
// there a second without any, and the path is taken again when it works.
func TestDirectIsFoundAndLeft(t *testing.T) {
	testDirect(t, 1, 2000)
}

// testDirect writes size bytes every 10 ms.
func testDirect(t *testing.T, seeds byte, size int) {
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			r := rand.NewChaCha8([32]byte{seed, 9})
			n, c := flight(t, nil)
			direct(t, c, 2*time.Second)
			s, err := c.Open(t.Context(), KindSSH, "")
			must(t, err)
			sent, got := sha256.New(), sha256.New()
			var stop sync.WaitGroup
			done := make(chan struct{})
			stop.Go(func() {
				b := make([]byte, size)
				for {
					select {
					case <-done:
						_ = s.CloseWrite()
						return
					case <-time.After(10 * time.Millisecond):
					}
					r.Read(b) //nolint:errcheck // never fails
					sent.Write(b)
					if _, err := s.Write(b); err != nil {
						t.Error(err)
						return
					}
				}
			})
			stop.Go(func() {
				b := make([]byte, 64<<10)
				last, worst := time.Now(), time.Duration(0)
				for {
					k, err := s.Read(b)
					got.Write(b[:k])
					worst, last = max(worst, time.Since(last)), time.Now()
					if err != nil {
						break
					}
				}
				if worst > time.Second {
					t.Errorf("seed %d: nothing came for %v", seed, worst)
				}
			})
			for i := range 6 {
				time.Sleep(time.Duration(500+int(seed)*137) * time.Millisecond)
				n.lose(func(to netip.AddrPort, _ int) bool { return i%3 == 0 || (to.String() == agentAddr) == (i%3 == 1) })
				time.Sleep(3 * time.Second)
				if w := c.Way(); w.Name != WayRelay || !strings.Contains(w.Why, "answer") {
					t.Errorf("cut %d: %+v", i, w)
				}
				n.lose(nil)
				time.Sleep(10 * time.Second)
				if w := c.Way(); w.Name != WayDirect {
					t.Errorf("after cut %d: %+v", i, w)
				}
			}
			close(done)
			stop.Wait()
			if !bytes.Equal(sent.Sum(nil), got.Sum(nil)) {
				t.Errorf("seed %d: other bytes came than went", seed)
			}
		})
	}
}

// TestSmallMTU has a path that carries small packets only: it is not taken, and
// left when it becomes so.
func TestSmallMTU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		big := func(_ netip.AddrPort, size int) bool { return size > 1200 }
		n, c := flight(t, nil)
		direct(t, c, 2*time.Second)
		n.lose(big)
		s, err := c.Open(t.Context(), KindSSH, "")
		must(t, err)
		start := time.Now()
		go func() { _, _ = s.Write(make([]byte, 1<<20)) }()
		_, err = io.CopyN(io.Discard, s, 1<<20)
		must(t, err)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
		if w := c.Way(); w.Name != WayRelay {
			t.Errorf("%+v", w)
		}
	})
}

// TestIdleDirect leaves a tunnel alone: it must not ping much, and be direct
// again right after the first packet.
func TestIdleDirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, c := flight(t, nil)
		direct(t, c, 2*time.Second)
		time.Sleep(10 * time.Minute)
		var sent atomic.Int32
		n.lose(func(netip.AddrPort, int) bool { sent.Add(1); return false })
		time.Sleep(10 * time.Minute)
		if sent.Load() > 400 {
			t.Errorf("%d packets in ten idle minutes", sent.Load())
		}
		_, err := c.Ping(t.Context())
		must(t, err)
		time.Sleep(50 * time.Millisecond)
		took, err := c.Ping(t.Context())
		must(t, err)
		if took > 4*time.Millisecond || c.Path() != WayDirect {
			t.Errorf("a ping took %v, %+v", took, c.Way())
		}
	})
}

// TestAddressesChange moves the client to another network: another address, from
// which the old socket still sends.
func TestAddressesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		addr := netip.MustParseAddr("10.0.0.1")
		var sock *airSocket
		n, c := flight(t, func(_ *ListenConfig, client *DialConfig) {
			sock = client.Direct.sock.(*airSocket)
			client.Direct.local = func() []netip.Addr {
				mu.Lock()
				defer mu.Unlock()
				return []netip.Addr{addr}
			}
		})
		direct(t, c, 2*time.Second)
		n.mu.Lock()
		delete(n.socks, sock.addr)
		sock.addr = netip.MustParseAddrPort("10.9.9.9:1111")
		n.socks[sock.addr] = sock
		n.mu.Unlock()
		mu.Lock()
		addr = sock.addr.Addr()
		mu.Unlock()
		time.Sleep(5 * time.Second)
		direct(t, c, time.Second)
		took, err := c.Ping(t.Context())
		must(t, err)
		if took > 4*time.Millisecond {
			t.Errorf("a ping took %v", took)
		}
	})
}
