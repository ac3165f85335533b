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

// memNetwork is a UDP network in memory, in simulated time.
type memNetwork struct {
	mu    sync.Mutex
	socks map[netip.AddrPort]*memSocket
	lost  func(to netip.AddrPort, size int) bool // reports whether a packet is lost
	delay time.Duration
}

type memSocket struct {
	network *memNetwork
	addr    netip.AddrPort
	in      chan memPacket
	closed  chan struct{}
	once    sync.Once
}

type memPacket struct {
	b    []byte
	from netip.AddrPort
}

func (n *memNetwork) socket(addr string) *memSocket {
	s := &memSocket{network: n, addr: netip.MustParseAddrPort(addr), in: make(chan memPacket, 4096), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.socks[s.addr] = s
	return s
}

func (n *memNetwork) setLoss(f func(to netip.AddrPort, size int) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lost = f
}

func (s *memSocket) Read(b []byte) (n, seg int, from netip.AddrPort, err error) {
	select {
	case p := <-s.in:
		return copy(b, p.b), 0, p.from, nil
	case <-s.closed:
		return 0, 0, from, net.ErrClosed
	}
}

func (s *memSocket) Write(b []byte, seg int, to netip.AddrPort) error {
	return udp.EachSegment(b, seg, func(p []byte) error {
		s.network.mu.Lock()
		dest, lost, delay := s.network.socks[to], s.network.lost != nil && s.network.lost(to, len(p)), s.network.delay
		s.network.mu.Unlock()
		if dest == nil || lost {
			return nil
		}
		packet := memPacket{slices.Clone(p), s.addr}
		time.AfterFunc(delay, func() {
			select {
			case dest.in <- packet:
			default:
			}
		})
		return nil
	})
}

func (s *memSocket) Port() uint16 { return s.addr.Port() }

func (s *memSocket) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

// memRelay is a relay for one agent and one client. Each message takes delay.
type memRelay struct {
	mu            sync.Mutex
	agent, client relay.Link
	delay         time.Duration
}

func (w *memRelay) dialer(end *relay.Link, other *relay.Link) Relay {
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
				if m.Text { // the hello of a link in use
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

// newTunnel returns a tunnel between a client and an agent that echoes, with direct and
// relayed paths.
func newTunnel(t *testing.T, change func(agent *ListenConfig, client *DialConfig)) (*memNetwork, *Conn) {
	// quic-go counts time from the start of the process, and a time of zero means none.
	// So simulated time, which begins in 2000, must be later than the process start.
	time.Sleep(40 * 365 * 24 * time.Hour)
	t.Helper()
	n := &memNetwork{socks: make(map[netip.AddrPort]*memSocket), delay: time.Millisecond}
	w := &memRelay{delay: 5 * time.Millisecond}
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
		time.Sleep(time.Second) // for packets in flight
	})
	return n, c
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// waitDirect waits for a direct path.
func waitDirect(t *testing.T, c *Conn, limit time.Duration) {
	t.Helper()
	for start := time.Now(); c.Path() != RouteDirect; time.Sleep(10 * time.Millisecond) {
		if time.Since(start) > limit {
			t.Fatalf("not direct after %v: %+v", limit, c.Route())
		}
	}
}

// TestDirectIsFoundAndLeft breaks the direct path again and again under full load, in one
// direction or both. Every byte must arrive once and in order, without a gap of more than a
// second. The tunnel must return to the path when it works again.
func TestDirectIsFoundAndLeft(t *testing.T) {
	testDirect(t, 1, 2000)
}

// testDirect writes size bytes every 10 ms.
func testDirect(t *testing.T, seeds byte, size int) {
	for seed := range seeds {
		synctest.Test(t, func(t *testing.T) {
			r := rand.NewChaCha8([32]byte{seed, 9})
			n, c := newTunnel(t, nil)
			waitDirect(t, c, 2*time.Second)
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
					t.Errorf("seed %d: no data arrived for %v", seed, worst)
				}
			})
			for i := range 6 {
				time.Sleep(time.Duration(500+int(seed)*137) * time.Millisecond)
				n.setLoss(func(to netip.AddrPort, _ int) bool { return i%3 == 0 || (to.String() == agentAddr) == (i%3 == 1) })
				time.Sleep(3 * time.Second)
				if w := c.Route(); w.Name != RouteRelay || !strings.Contains(w.Why, "answer") {
					t.Errorf("cut %d: %+v", i, w)
				}
				n.setLoss(nil)
				time.Sleep(10 * time.Second)
				if w := c.Route(); w.Name != RouteDirect {
					t.Errorf("after cut %d: %+v", i, w)
				}
			}
			close(done)
			stop.Wait()
			if !bytes.Equal(sent.Sum(nil), got.Sum(nil)) {
				t.Errorf("seed %d: the received bytes differ from the sent ones", seed)
			}
		})
	}
}

// TestSmallMTU has a path that carries only small packets. The tunnel must not use such a
// path, and must leave a path that becomes so.
func TestSmallMTU(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		big := func(_ netip.AddrPort, size int) bool { return size > 1200 }
		n, c := newTunnel(t, nil)
		waitDirect(t, c, 2*time.Second)
		n.setLoss(big)
		s, err := c.Open(t.Context(), KindSSH, "")
		must(t, err)
		start := time.Now()
		go func() { _, _ = s.Write(make([]byte, 1<<20)) }()
		_, err = io.CopyN(io.Discard, s, 1<<20)
		must(t, err)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
		if w := c.Route(); w.Name != RouteRelay {
			t.Errorf("%+v", w)
		}
	})
}

// TestIdleDirect leaves a tunnel idle: it must not ping often, and must be direct again right
// after the first packet.
func TestIdleDirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, c := newTunnel(t, nil)
		waitDirect(t, c, 2*time.Second)
		time.Sleep(10 * time.Minute)
		var sent atomic.Int32
		n.setLoss(func(netip.AddrPort, int) bool { sent.Add(1); return false })
		time.Sleep(10 * time.Minute)
		if sent.Load() > 400 {
			t.Errorf("%d packets in ten idle minutes", sent.Load())
		}
		_, err := c.Ping(t.Context())
		must(t, err)
		time.Sleep(50 * time.Millisecond)
		took, err := c.Ping(t.Context())
		must(t, err)
		if took > 4*time.Millisecond || c.Path() != RouteDirect {
			t.Errorf("a ping took %v, %+v", took, c.Route())
		}
	})
}

// TestAddressesChange moves the client to another network: the same socket sends from another
// address.
func TestAddressesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		addr := netip.MustParseAddr("10.0.0.1")
		var sock *memSocket
		n, c := newTunnel(t, func(_ *ListenConfig, client *DialConfig) {
			sock = client.Direct.sock.(*memSocket)
			client.Direct.local = func() []netip.Addr {
				mu.Lock()
				defer mu.Unlock()
				return []netip.Addr{addr}
			}
		})
		waitDirect(t, c, 2*time.Second)
		n.mu.Lock()
		delete(n.socks, sock.addr)
		sock.addr = netip.MustParseAddrPort("10.9.9.9:1111")
		n.socks[sock.addr] = sock
		n.mu.Unlock()
		mu.Lock()
		addr = sock.addr.Addr()
		mu.Unlock()
		time.Sleep(5 * time.Second)
		waitDirect(t, c, time.Second)
		took, err := c.Ping(t.Context())
		must(t, err)
		if took > 4*time.Millisecond {
			t.Errorf("a ping took %v", took)
		}
	})
}
