package wsproxy_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/switchboard"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
	"github.com/seed-2a7f8fe7/coder/internal/wsproxy"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// network forwards TCP connections. It delays what passes, shows it, and can be cut.
type network struct {
	net.Listener
	to    string
	delay time.Duration
	seen  func(b []byte) // may be nil

	mu     sync.Mutex
	cut    bool
	open   map[net.Conn]struct{}
	passed atomic.Int64
}

func newNetwork(t testing.TB, to string, delay time.Duration) *network {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	n := &network{Listener: l, to: to, delay: delay, open: map[net.Conn]struct{}{}}
	t.Cleanup(n.fail)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go n.join(c)
		}
	}()
	return n
}

func (n *network) url() string { return "http://" + n.Addr().String() }

func (n *network) join(in net.Conn) {
	defer in.Close()
	out, err := net.Dial("tcp", n.to)
	if err != nil {
		return
	}
	defer out.Close()
	n.mu.Lock()
	n.open[in] = struct{}{}
	cut := n.cut
	n.mu.Unlock()
	if cut {
		return
	}
	var both sync.WaitGroup
	carry := func(to, from net.Conn) {
		defer to.Close()
		b := make([]byte, 32<<10)
		for {
			k, err := from.Read(b)
			if k > 0 {
				if n.delay > 0 {
					testwait.Pause(n.delay)
				}
				n.passed.Add(int64(k))
				if n.seen != nil {
					n.seen(b[:k])
				}
				if _, err := to.Write(b[:k]); err != nil {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
	both.Go(func() { carry(out, in) })
	both.Go(func() { carry(in, out) })
	both.Wait()
}

// fail ends all connections and refuses others, as when a process is killed.
func (n *network) fail() {
	n.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = true
	for c := range n.open {
		c.Close()
	}
}

// logs keeps what both ends of a tunnel log. Goroutines may write after the test.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// primary is a server with an agent, as far as tunnels need one.
type primary struct {
	t         testing.TB
	url       *url.URL
	board     *switchboard.Board
	authority *tunnel.Authority
	identity  *tunnel.Identity
	agentID   uuid.UUID
	log       *slog.Logger // shown when the test fails
	ahead     atomic.Int64 // of this machine's clock, as a time.Duration

	mu      sync.Mutex
	proxies map[uuid.UUID]codersdk.TunnelProxy
	grants  int
	actions []string
}

func newPrimary(t testing.TB) *primary {
	t.Helper()
	authority, err := tunnel.NewAuthority(make([]byte, tunnel.SeedSize))
	ok(t, err)
	identity, err := tunnel.NewIdentity()
	ok(t, err)
	p := &primary{
		t: t, board: switchboard.New(switchboard.Config{Authority: authority}), authority: authority, identity: identity, agentID: uuid.New(),
		proxies: map[uuid.UUID]codersdk.TunnelProxy{}, actions: []string{tunnel.KindSSH, tunnel.KindTCP, tunnel.KindRelay},
	}
	shown := &logs{}
	p.log = slog.New(slog.NewTextHandler(shown, &slog.HandlerOptions{Level: slog.LevelDebug}))
	srv := httptest.NewServer(p.routes())
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(shown.String())
		}
		ok(t, p.board.Stop(context.Background()))
		srv.Close()
	})
	p.url, err = url.Parse(srv.URL)
	ok(t, err)
	return p
}

func (p *primary) routes() http.Handler {
	mux := http.NewServeMux()
	const api, me = "/api/v2/workspaceagents/", "/api/v2/workspaceproxies/me"
	answer := func(w http.ResponseWriter, v any) {
		if err := json.NewEncoder(w).Encode(v); err != nil {
			p.t.Error(err)
		}
	}
	mux.HandleFunc("GET /latency-check", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "OK") }) //nolint:errcheck // the client reports it
	mux.HandleFunc("POST "+me+"/register", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, codersdk.RegisterWorkspaceProxyResponse{})
	})
	mux.HandleFunc("POST "+me+"/deregister", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET "+me+"/crypto-keys", func(w http.ResponseWriter, _ *http.Request) { answer(w, codersdk.CryptoKeysResponse{}) })
	mux.HandleFunc("GET /api/v2/buildinfo", func(w http.ResponseWriter, _ *http.Request) { answer(w, codersdk.BuildInfoResponse{}) })
	mux.HandleFunc("GET "+me+"/relay", func(w http.ResponseWriter, r *http.Request) {
		id, err := uuid.Parse(r.Header.Get(codersdk.ProxyTokenHeader))
		if err != nil {
			p.t.Error(err)
		}
		answer(w, p.authority.RelayKey(id))
	})
	mux.HandleFunc("POST "+api+"{agent}/tunnel", func(w http.ResponseWriter, r *http.Request) {
		var req codersdk.TunnelRequest
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			p.t.Error(err)
		}
		answer(w, p.grant(req.PublicKey))
	})
	link := func(serve func(w http.ResponseWriter, r *http.Request)) http.HandlerFunc { return serve }
	mux.HandleFunc("GET "+api+"{agent}/relay", link(func(w http.ResponseWriter, r *http.Request) {
		conn, err := tunnel.AcceptRelay(w, r)
		if err != nil {
			return
		}
		if r.PathValue("agent") == "me" {
			_ = p.board.Agent(r.Context(), p.agentID, conn)
		} else {
			_ = p.board.Client(r.Context(), p.agentID, conn, nil)
		}
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", p.now().UTC().Format(http.TimeFormat))
		mux.ServeHTTP(w, r)
	})
}

func (p *primary) now() time.Time { return time.Now().Add(time.Duration(p.ahead.Load())) }

func (p *primary) token(proxy uuid.UUID, end tunnel.RelayEnd) string {
	return p.authority.IssueRelay(tunnel.RelayClaim{ProxyID: proxy, AgentID: p.agentID, End: end}, p.now())
}

func (p *primary) grant(key []byte) codersdk.TunnelGrant {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grants++
	certificate, err := p.authority.Issue(key, tunnel.Grant{
		UserID: uuid.New(), WorkspaceID: uuid.New(), AgentID: p.agentID, Actions: p.actions,
	}, time.Now())
	if err != nil {
		p.t.Error(err)
	}
	out := codersdk.TunnelGrant{Certificate: certificate, AgentCertificate: p.identity.Certificate(), Actions: p.actions}
	for _, x := range p.proxies {
		x.ClientToken, x.AgentToken = p.token(x.ID, tunnel.RelayClient), p.token(x.ID, tunnel.RelayAgent)
		out.Proxies = append(out.Proxies, x)
	}
	return out
}

// newProxy starts a workspace proxy that is reached over a network with a delay. The
// server lists it.
func (p *primary) newProxy(name string, delay time.Duration) (*wsproxy.Proxy, *network) {
	p.t.Helper()
	id := uuid.New()
	w, err := wsproxy.New(wsproxy.Config{
		Version: "v2.37.0-test", Log: slog.New(slog.DiscardHandler), Primary: p.url, Token: id.String(), HTTPAddress: "127.0.0.1:0", RelayOnly: true,
	})
	ok(p.t, err)
	ok(p.t, w.Start(p.t.Context()))
	p.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		ok(p.t, w.Stop(ctx))
	})
	n := newNetwork(p.t, w.AccessURL().Host, delay)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.proxies[id] = codersdk.TunnelProxy{ID: id, Name: name, URL: n.url()}
	return w, n
}

// listen starts the agent, which echoes.
func (p *primary) listen(change ...func(*tunnel.ListenConfig)) {
	p.t.Helper()
	c := codersdk.New(p.url)
	c.SessionToken = "agent"
	config := tunnel.ListenConfig{
		Log:      p.log,
		Identity: p.identity, AgentID: p.agentID, ClientCA: p.authority.Certificate(), Relay: tunnel.AgentRelay(c), DialProxy: tunnel.DialProxy(nil),
		Direct: tunnel.Direct{Disabled: "this test is of relays"},
		Handle: func(_ context.Context, r *tunnel.Request) {
			if s, err := r.Accept(); err == nil {
				_, _ = io.Copy(s, s)
				_ = s.CloseWrite()
			}
		},
	}
	for _, f := range change {
		f(&config)
	}
	l, err := tunnel.Listen(config)
	ok(p.t, err)
	ok(p.t, l.Start(p.t.Context()))
	p.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		ok(p.t, l.Stop(ctx))
	})
}

// dial opens a tunnel over a network to the server.
func (p *primary) dial(n *network) *tunnel.Conn {
	p.t.Helper()
	u, err := url.Parse(n.url())
	ok(p.t, err)
	ctx, cancel := context.WithTimeout(p.t.Context(), testwait.Limit)
	defer cancel()
	conn, err := tunnel.DialAgent(ctx, codersdk.New(u), p.agentID, tunnel.Options{
		NoDirect: "this test is of relays", Log: p.log,
	})
	ok(p.t, err)
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func relayedBy(t testing.TB, c *tunnel.Conn, proxy string) {
	t.Helper()
	testwait.Value(t, "the relay", func() string { return c.Route().Proxy }, func(now string) bool { return now == proxy })
}

// talk sends a line and wants it back.
func talk(t testing.TB, s *tunnel.Stream, text string) {
	t.Helper()
	_, err := s.Write([]byte(text))
	ok(t, err)
	b := make([]byte, len(text))
	ok(t, s.SetReadDeadline(time.Now().Add(testwait.Limit)))
	_, err = io.ReadFull(s, b)
	ok(t, err)
	if string(b) != text {
		t.Fatalf("got %q for %q", b, text)
	}
}

// The server is far away, so that any proxy is nearer even on a busy machine.
const (
	serverDelay = 300 * time.Millisecond
	farDelay    = 100 * time.Millisecond
)

// TestNearestProxyRelays has a transfer take the nearest proxy, the next one when that
// fails, and the server when none is left. Every byte arrives once and in order, and no
// proxy can read it.
func TestNearestProxyRelays(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	p.listen()
	_, near := p.newProxy("near", 0)
	_, far := p.newProxy("far", farDelay)
	secret := []byte("the very secret plaintext of a session")
	var mu sync.Mutex
	var relayed bytes.Buffer
	near.seen = func(b []byte) {
		mu.Lock()
		defer mu.Unlock()
		relayed.Write(b)
	}
	home := newNetwork(t, p.url.Host, serverDelay)
	c := p.dial(home)
	s, err := c.Open(t.Context(), tunnel.KindSSH, "")
	ok(t, err)
	talk(t, s, "by the server")
	relayedBy(t, c, "near")
	talk(t, s, string(secret))
	bulk := startBulk(t, s)
	testwait.Until(t, "the first proxy relays", func() bool { return near.passed.Load() > 256<<10 })
	near.fail()
	bulk.moves()
	relayedBy(t, c, "far")
	testwait.Until(t, "the second proxy relays", func() bool { return far.passed.Load() > 64<<10 })
	far.fail()
	bulk.moves()
	relayedBy(t, c, "")
	bulk.finish()
	mu.Lock()
	defer mu.Unlock()
	if relayed.Len() < 64<<10 {
		t.Fatalf("only %d bytes passed the first proxy: the test does not see all", relayed.Len())
	}
	for _, known := range [][]byte{secret[:12], p.identity.Certificate()[:64], []byte("coder client")} {
		if bytes.Contains(relayed.Bytes(), known) {
			t.Errorf("the proxy can read %q", known)
		}
	}
}

// bulk is a transfer that is echoed until the test ends it.
type bulk struct {
	t       testing.TB
	stop    chan struct{}
	sent    chan []byte // the digest of what was sent
	got     chan []byte
	arrived atomic.Int64
}

func startBulk(t testing.TB, s *tunnel.Stream) *bulk {
	b := &bulk{t: t, stop: make(chan struct{}), sent: make(chan []byte, 1), got: make(chan []byte, 1)}
	_ = s.SetDeadline(time.Time{})
	go func() {
		sum, buf := sha256.New(), make([]byte, 8<<10)
		for {
			_, _ = rand.Read(buf)
			sum.Write(buf)
			if _, err := s.Write(buf); err != nil {
				t.Error(err)
			}
			select {
			case <-b.stop:
				_ = s.CloseWrite()
				b.sent <- sum.Sum(nil)
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	go func() {
		sum := sha256.New()
		buf := make([]byte, 32<<10)
		for {
			n, err := s.Read(buf)
			sum.Write(buf[:n])
			b.arrived.Add(int64(n))
			if err != nil {
				b.got <- sum.Sum(nil)
				return
			}
		}
	}()
	return b
}

// moves waits until more has arrived.
func (b *bulk) moves() {
	b.t.Helper()
	before := b.arrived.Load()
	testwait.Until(b.t, "the transfer continues", func() bool { return b.arrived.Load() > before+64<<10 })
}

func (b *bulk) finish() {
	b.t.Helper()
	close(b.stop)
	sent := testwait.Receive(b.t, "the end of the sending", b.sent)
	if got := testwait.Receive(b.t, "the end of the transfer", b.got); !bytes.Equal(got, sent) {
		b.t.Error("the transfer lost, doubled or changed bytes")
	}
}

// TestTunnelOutlivesTheServer has the server's relay fail while a proxy relays.
func TestTunnelOutlivesTheServer(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	p.listen()
	p.newProxy("near", 0)
	home := newNetwork(t, p.url.Host, serverDelay)
	c := p.dial(home)
	s, err := c.Open(t.Context(), tunnel.KindSSH, "")
	ok(t, err)
	relayedBy(t, c, "near")
	home.fail()
	talk(t, s, "the server is gone")
	if c.Interrupted() || c.Route().Proxy != "near" {
		t.Errorf("the tunnel is %+v", c.Route())
	}
}

// TestOlderEndsUseTheServer has an agent, a certificate and a proxy that know nothing
// of this.
func TestOlderEndsUseTheServer(t *testing.T) {
	t.Parallel()
	t.Run("agent", func(t *testing.T) {
		p := newPrimary(t)
		asked := make(chan struct{}, 8)
		p.listen(func(c *tunnel.ListenConfig) {
			c.DialProxy = func(context.Context, string, string) (relay.Link, error) {
				asked <- struct{}{}
				return nil, io.ErrUnexpectedEOF
			}
		})
		p.newProxy("near", 0)
		c := p.dial(newNetwork(t, p.url.Host, serverDelay))
		s, err := c.Open(t.Context(), tunnel.KindSSH, "")
		ok(t, err)
		testwait.Receive(t, "a request to the agent", asked)
		talk(t, s, "by the server")
		relayedBy(t, c, "")
	})
	t.Run("server", func(t *testing.T) {
		p := newPrimary(t)
		p.actions = []string{tunnel.KindSSH}
		p.listen()
		p.newProxy("near", 0)
		c := p.dial(newNetwork(t, p.url.Host, 0))
		s, err := c.Open(t.Context(), tunnel.KindSSH, "")
		ok(t, err)
		talk(t, s, "by the server")
		relayedBy(t, c, "")
	})
}

// TestRelayTokens opens a proxy's relay with tokens that must open nothing.
func TestRelayTokens(t *testing.T) {
	t.Parallel()
	p := newPrimary(t)
	_, n := p.newProxy("near", 0)
	var id uuid.UUID
	for id = range p.proxies {
	}
	dial := tunnel.DialProxy(nil)
	strangers, err := tunnel.NewAuthority(bytes.Repeat([]byte{7}, tunnel.SeedSize))
	ok(t, err)
	good := tunnel.RelayClaim{ProxyID: id, AgentID: p.agentID, End: tunnel.RelayClient}
	valid := p.authority.IssueRelay(good, time.Now())
	other := good
	other.ProxyID = uuid.New()
	none := good
	none.AgentID = uuid.Nil
	body, signature, _ := strings.Cut(valid, ".")
	for name, token := range map[string]string{
		"":                  "",
		"no token":          "nonsense",
		"expired":           p.authority.IssueRelay(good, time.Now().Add(-time.Hour)),
		"not valid yet":     p.authority.IssueRelay(good, time.Now().Add(time.Hour)),
		"another authority": strangers.IssueRelay(good, time.Now()),
		"another proxy":     p.authority.IssueRelay(other, time.Now()),
		"no agent":          p.authority.IssueRelay(none, time.Now()),
		"changed":           body[:len(body)-4] + "AAAA." + signature,
		"without signature": body,
		"a session token":   p.agentID.String() + "-secret",
	} {
		link, err := dial(t.Context(), n.url(), token)
		if err == nil {
			link.Close(0, "")
		}
		if !codersdk.Is(err, codersdk.CodeUnauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A valid token reaches no agent but its own.
	agent, err := dial(t.Context(), n.url(), p.token(id, tunnel.RelayAgent))
	ok(t, err)
	defer agent.Close(0, "")
	instance := relay.InstanceOf(p.identity.Certificate())
	ok(t, agent.Send(true, []byte(relay.TextServe(instance))))
	foreign := good
	foreign.AgentID = uuid.New()
	client, err := dial(t.Context(), n.url(), p.authority.IssueRelay(foreign, time.Now()))
	ok(t, err)
	defer client.Close(0, "")
	ok(t, client.Send(true, []byte(relay.TextAttach(relay.Session{1}, instance))))
	m, err := client.Receive()
	ok(t, err)
	if string(m.Data) != relay.TextOffline {
		t.Errorf("a token of another workspace reaches the agent: %q", m.Data)
	}
}

// TestClockOfPrimary sets the server's clock ahead of the proxy's by more than a relay
// token is valid. The proxy then accepts the server's tokens, and no longer those that
// have expired by the server's clock.
func TestClockOfPrimary(t *testing.T) {
	p := newPrimary(t)
	p.ahead.Store(int64(48 * time.Hour))
	w, _ := p.newProxy("far", 0)
	p.mu.Lock()
	var id uuid.UUID
	for id = range p.proxies {
	}
	p.mu.Unlock()
	status := func(token string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.AccessURL().JoinPath("/api/v2/relay").String(), nil)
		ok(t, err)
		req.Header.Set(tunnel.RelayTokenHeader, token)
		resp, err := http.DefaultClient.Do(req)
		ok(t, err)
		ok(t, resp.Body.Close())
		return resp.StatusCode
	}
	// A valid token gets to the WebSocket, which this request is not.
	testwait.Value(t, "the answer to the server's token", func() int { return status(p.token(id, tunnel.RelayClient)) },
		func(got int) bool { return got == http.StatusUpgradeRequired })
	expired := p.authority.IssueRelay(tunnel.RelayClaim{ProxyID: id, AgentID: p.agentID, End: tunnel.RelayClient}, time.Now())
	if got := status(expired); got != http.StatusUnauthorized {
		t.Errorf("a token that has expired by the server's clock: status %d, want 401", got)
	}
}
