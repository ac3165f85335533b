// Package agentapi is the edge that agents reach the server by, each with the
// token its build gave it: the control connection (one WebSocket, yamux in it,
// one DRPC call per stream, see api/agentrpc) and a few plain HTTP requests.
// The relay of tunnels, and the grants that let clients into them, are served
// here too, because both ends of a tunnel meet at the same board. (AG-03)
package agentapi

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/app"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/instance"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/proxy"
	"github.com/seed-2a7f8fe7/coder/internal/switchboard"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// Config is what an API needs.
type Config struct {
	Log      *slog.Logger
	Presence *presence.Service
	// Board relays tunnels, Authority certifies their clients, and Identity
	// knows who the clients are.
	Board     *switchboard.Board
	Authority *tunnel.Authority
	Identity  *identity.Service
	// Connections keeps the record of tunnels; nil: there is none.
	Connections *connection.Service
	// Apps keeps what apps say of themselves.
	Apps *app.Service
	// Proxies are those who have tunnels of their own.
	Proxies *proxy.Service
	// Instances believes clouds what they say of agents' machines; nil: none does.
	Instances *instance.Verifier
	// BrowserOnly refuses tunnels to everybody but this server, which serves
	// browsers.
	BrowserOnly bool
	// KeepAlive is how often the server asks an agent for a sign of life, how
	// long the answer may take, and how long a stream may be without a call; 0
	// means 10 s.
	KeepAlive time.Duration
}

// API serves agents. It is safe for concurrent use.
type API struct {
	c      Config
	mux    *http.ServeMux
	mounts map[string]http.Handler
	open   connections
}

// New gives an API.
func New(c Config) *API {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.KeepAlive <= 0 {
		c.KeepAlive = 10 * time.Second // who is silent for twice that is gone (AG-04)
	}
	a := &API{c: c, mux: http.NewServeMux(), mounts: map[string]http.Handler{}}
	a.open.cancel = map[uuid.UUID]context.CancelFunc{}
	const me = "/api/v2/workspaceagents/me"
	a.handle("GET "+me+"/rpc", a.rpc)
	a.handle("PATCH "+me+"/logs", a.patchLogs)
	a.handle("POST "+me+"/log-source", a.postLogSource)
	a.handle("GET "+me+"/gitsshkey", a.gitSSHKey)
	a.handle("PATCH "+me+"/app-status", a.patchAppStatus)
	a.handle("GET "+me+"/reinit", a.reinit)
	a.instanceRoutes()
	a.relayRoutes()
	return a
}

// Handler serves everything below /api/v2/workspaceagents/me, what agents prove
// their machines at, ClientRelayPath and TunnelGrantPath.
func (a *API) Handler() http.Handler { return a.mux }

// Mounts gives the handler by each pattern that it serves, for a mux that
// serves other paths of agents too.
func (a *API) Mounts() map[string]http.Handler { return maps.Clone(a.mounts) }

// Start does nothing: the API lives as its requests do.
func (a *API) Start(context.Context) error { return nil }

// Stop ends the agents' connections, which no HTTP server knows of any more,
// and waits for them.
func (a *API) Stop(ctx context.Context) error { return a.open.stop(ctx) }

// handle registers a handler that returns its failure.
func (a *API) handle(pattern string, h func(w http.ResponseWriter, r *http.Request) error) {
	a.mounts[pattern] = a.mux
	a.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			a.fail(w, r, err)
		}
	})
}

// agent gives whose token a request bears.
func (a *API) agent(r *http.Request) (presence.Agent, error) {
	t := r.Header.Get(client.SessionTokenHeader)
	if t == "" {
		t, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	if t == "" {
		return presence.Agent{}, coder.Errorf(coder.CodeUnauthenticated, "Send the agent's token in the header %s", client.SessionTokenHeader)
	}
	return a.c.Presence.AuthenticateAgent(r.Context(), t)
}

// connections are the open connections, so that they can be ended.
type connections struct {
	mu     sync.Mutex
	closed bool
	cancel map[uuid.UUID]context.CancelFunc
	wait   sync.WaitGroup
}

// add gives a context for a connection and what to call at its end; ok is
// false when the API stops.
func (c *connections) add(ctx context.Context, id uuid.UUID) (_ context.Context, done func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancel(ctx)
	c.cancel[id] = cancel
	c.wait.Add(1)
	return ctx, func() {
		cancel()
		c.mu.Lock()
		delete(c.cancel, id)
		c.mu.Unlock()
		c.wait.Done()
	}, true
}

func (c *connections) stop(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	for _, cancel := range c.cancel {
		cancel()
	}
	c.mu.Unlock()
	done := make(chan struct{})
	go func() { c.wait.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
