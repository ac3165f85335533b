package switchboard_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/switchboard"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// world is a board behind real WebSockets, an authority, and an agent.
type world struct {
	t         testing.TB
	board     *switchboard.Board
	authority *tunnel.Authority
	url       string
	agentID   uuid.UUID
	identity  *tunnel.Identity
	user      uuid.UUID
	direct    tunnel.Direct // of both ends

	mu    sync.Mutex
	links map[*spyLink]string // open links of both ends
	agent *tunnel.Listener    // the last that was started
	seen  func(p []byte)      // called with everything that is sent to the relay
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := unstarted(t)
	w.board = switchboard.New(switchboard.Config{Authority: w.authority})
	ok(t, w.board.Start(t.Context()))
	return w
}

// unstarted is a world that still needs a board.
func unstarted(t testing.TB) *world {
	t.Helper()
	authority, err := tunnel.NewAuthority(make([]byte, tunnel.SeedSize))
	ok(t, err)
	identity, err := tunnel.NewIdentity()
	ok(t, err)
	w := &world{
		direct: tunnel.Direct{Disabled: "this test is of the relay"}, t: t, authority: authority, identity: identity, agentID: uuid.New(), user: uuid.New(), links: map[*spyLink]string{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/agent", func(rw http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(rw, r, nil)
		if err == nil {
			_ = w.current().Agent(r.Context(), w.agentID, c)
		}
	})
	mux.HandleFunc("/client", func(rw http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(rw, r, nil)
		if err == nil {
			_ = w.current().Client(r.Context(), w.agentID, c, nil)
		}
	})
	mux.HandleFunc(switchboard.HopPath, func(rw http.ResponseWriter, r *http.Request) {
		if err := w.current().AdmitHop(r.Header.Get(switchboard.HopHeader), w.agentID); err != nil {
			http.Error(rw, err.Error(), http.StatusUnauthorized)
			return
		}
		c, err := websocket.Accept(rw, r, nil)
		if err == nil {
			_ = w.current().Hop(r.Context(), w.agentID, c)
		}
	})
	srv := httptest.NewServer(mux)
	w.url = srv.URL
	t.Cleanup(func() {
		ok(t, w.current().Stop(context.Background()))
		srv.Close()
	})
	return w
}

func (w *world) current() *switchboard.Board {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.board
}

func (w *world) setBoard(b *switchboard.Board) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.board = b
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// relay dials the board as "agent" or "client".
func (w *world) relay(end string) relay.Dialer {
	return func(ctx context.Context) (relay.Link, error) {
		c, _, err := websocket.Dial(ctx, w.url+"/"+end, nil)
		if err != nil {
			return nil, err
		}
		l := &spyLink{Link: relay.WebSocketLink(c), w: w}
		w.mu.Lock()
		w.links[l] = end
		w.mu.Unlock()
		return l, nil
	}
}

// cut breaks all links of an end, or of both when end is "".
func (w *world) cut(end string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l, e := range w.links {
		if end == "" || e == end {
			l.Link.Close(0, "")
			delete(w.links, l)
		}
	}
}

// spyLink shows what is sent.
type spyLink struct {
	relay.Link
	w *world
}

func (l *spyLink) Send(text bool, p []byte) error {
	if l.w.seen != nil && !text {
		l.w.seen(p)
	}
	return l.Link.Send(text, p)
}

// listen starts the agent. Streams are echoed.
func (w *world) listen(change ...func(*tunnel.ListenConfig)) *tunnel.Listener {
	w.t.Helper()
	c := tunnel.ListenConfig{
		Identity: w.identity, AgentID: w.agentID, ClientCA: w.authority.Certificate(), Relay: w.relay("agent"), Handle: echo, Direct: w.direct,
	}
	for _, f := range change {
		f(&c)
	}
	l, err := tunnel.Listen(c)
	ok(w.t, err)
	ok(w.t, l.Start(w.t.Context()))
	w.agent = l
	w.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testwait.Limit)
		defer cancel()
		ok(w.t, l.Stop(ctx))
	})
	return l
}

func echo(_ context.Context, r *tunnel.Request) {
	if strings.HasPrefix(r.Arg, "refuse") {
		r.Reject(io.ErrNoProgress)
		return
	}
	s, err := r.Accept()
	if err == nil {
		_, _ = io.Copy(s, s)
		_ = s.CloseWrite()
	}
}

func (w *world) grant(actions ...string) tunnel.Grant {
	return tunnel.Grant{UserID: w.user, WorkspaceID: uuid.New(), AgentID: w.agentID, Actions: actions}
}

// config is that of a client with a good certificate.
func (w *world) config(g tunnel.Grant) tunnel.DialConfig {
	w.t.Helper()
	id, err := tunnel.NewIdentity()
	ok(w.t, err)
	certificate, err := w.authority.Issue(id.PublicKey(), g, time.Now())
	ok(w.t, err)
	return tunnel.DialConfig{
		Identity: id, Certificate: certificate, AgentCertificate: w.identity.Certificate(), Relay: w.relay("client"),
		Direct: w.direct,
	}
}

func (w *world) dial(actions ...string) *tunnel.Conn {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), testwait.Limit)
	defer cancel()
	c, err := tunnel.Dial(ctx, w.config(w.grant(actions...)))
	ok(w.t, err)
	w.t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestEcho(t *testing.T) {
	w := newWorld(t)
	w.listen()
	c := w.dial(tunnel.KindSSH)
	s, err := c.Open(t.Context(), tunnel.KindSSH, "")
	ok(t, err)
	_, err = s.Write([]byte("hello"))
	ok(t, err)
	ok(t, s.CloseWrite())
	b, err := io.ReadAll(s)
	ok(t, err)
	if string(b) != "hello" {
		t.Fatalf("got %q", b)
	}
	rtt, err := c.Ping(t.Context())
	ok(t, err)
	t.Log("ping", rtt)
}
