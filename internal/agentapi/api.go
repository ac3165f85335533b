// Package agentapi serves agents. Each agent authenticates with the token that
// its build assigned. The control connection is one WebSocket with yamux in it
// and one DRPC call per stream (see api/agentrpc); a few requests are plain HTTP.
//
// The package also serves the relay of tunnels and issues the grants with which
// clients open them, because both ends of a tunnel meet at the same board. (AG-03)
package agentapi

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/instance"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/proxy"
	"github.com/seed-2a7f8fe7/coder/internal/switchboard"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// Config holds the dependencies and settings of an API.
type Config struct {
	Log      *slog.Logger
	Presence *presence.Service
	// Board relays tunnels, Authority certifies their clients, and Identity
	// authenticates the clients.
	Board     *switchboard.Board
	Authority *tunnel.Authority
	Identity  *identity.Service
	// Connections records tunnels in the connection log; nil records nothing.
	Connections *connection.Service
	// Apps stores the statuses that apps report.
	Apps *workspaceapp.Service
	// ExternalAuth returns the token of an agent's owner at the provider with an
	// ID, or at that of a git remote. With listen it waits until there is one.
	ExternalAuth func(ctx context.Context, ownerID, buildID uuid.UUID, id, match string, listen bool) (codersdk.ExternalAuthResponse, error)
	// ExternalAuthChanges returns a channel that is signaled when a user's tokens at
	// providers may have changed, and its release; nil signals nothing.
	ExternalAuthChanges func(owner uuid.UUID) (<-chan struct{}, func())
	// GitSeed opens the git mirror's copy of a repository that an agent's owner can read. Without create, it begins no
	// copy. A nil seed means that the mirror has no current copy yet.
	GitSeed func(ctx context.Context, ownerID, buildID uuid.UUID, url string, create bool) (GitSeed, error)
	// Secrets serves the secrets of agents' owners; nil serves none.
	Secrets Secrets
	// Proxies are the workspace proxies, which open tunnels of their own.
	Proxies *proxy.Service
	// Instances verifies the instance identity documents of clouds; nil accepts
	// none.
	Instances *instance.Verifier
	// BrowserOnly refuses tunnels to all clients except this server.
	BrowserOnly bool
	// KeepAlive is the interval of heartbeats to an agent, the time in which it
	// must reply, and the time that a stream may be open without a call. 0
	// means 10 s.
	KeepAlive time.Duration
	// Now is the clock of the certificates of tunnels; nil means time.Now.
	Now func() time.Time
}

// GitSeed is a repository in the form of package seed of the git mirror.
type GitSeed interface {
	io.WriterTo
	io.Closer
}

// Secrets returns the secrets that agents get.
type Secrets interface {
	// ForAgent returns the secrets for workspaces of an owner and a template. known is
	// the version that the agent has.
	ForAgent(ctx context.Context, owner, template uuid.UUID, known []byte) (*agentrpc.UserSecretsResponse, error)
	// Subscribe returns a channel that is signaled when the secrets may have changed,
	// and its release.
	Subscribe(owner, template uuid.UUID) (<-chan struct{}, func())
}

// API serves agents. It is safe for concurrent use.
type API struct {
	c      Config
	mux    *http.ServeMux
	mounts map[string]http.Handler
	open   connections
}

// New returns an API.
func New(c Config) *API {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.KeepAlive <= 0 {
		c.KeepAlive = 10 * time.Second // an agent that is silent for twice this counts as disconnected (AG-04)
	}
	a := &API{c: c, mux: http.NewServeMux(), mounts: map[string]http.Handler{}}
	a.open.cancel = map[uuid.UUID]context.CancelFunc{}
	const me = "/api/v2/workspaceagents/me"
	a.handle("GET "+me+"/rpc", a.rpc)
	a.handle("PATCH "+me+"/logs", a.patchLogs)
	a.handle("POST "+me+"/log-source", a.postLogSource)
	a.handle("GET "+me+"/gitsshkey", a.gitSSHKey)
	a.handle("GET "+me+"/external-auth", a.externalAuth)
	a.handle("GET "+me+"/gitauth", a.externalAuth) // the name that older agents use
	a.handle("POST "+me+"/git-seed", a.gitSeed)
	a.handle("PATCH "+me+"/app-status", a.patchAppStatus)
	a.handle("GET "+me+"/reinit", a.reinit)
	a.instanceRoutes()
	a.relayRoutes()
	return a
}

// Handler serves everything below /api/v2/workspaceagents/me, instance identity
// sign-in, ClientRelayPath and TunnelGrantPath.
func (a *API) Handler() http.Handler { return a.mux }

// Mounts returns the handler of each pattern, for a mux that also serves other
// agent paths.
func (a *API) Mounts() map[string]http.Handler { return maps.Clone(a.mounts) }

// Start does nothing: the API only reacts to requests.
func (a *API) Start(context.Context) error { return nil }

// Stop closes the agents' connections, which are hijacked and so unknown to the
// HTTP server, and waits for them.
func (a *API) Stop(ctx context.Context) error { return a.open.stop(ctx) }

// handle registers a handler that may return an error.
func (a *API) handle(pattern string, h func(w http.ResponseWriter, r *http.Request) error) {
	a.mounts[pattern] = a.mux
	a.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			a.fail(w, r, err)
		}
	})
}

// agent returns the agent whose token a request carries.
func (a *API) agent(r *http.Request) (presence.Agent, error) {
	t := bearer(r)
	if t == "" {
		return presence.Agent{}, codersdk.Errorf(codersdk.CodeUnauthenticated, "Send the agent's token in the header %s", codersdk.SessionTokenHeader)
	}
	return a.c.Presence.AuthenticateAgent(r.Context(), t)
}

// logAgent returns the agent whose log a request appends to. Its build may
// still be running.
func (a *API) logAgent(r *http.Request) (presence.Agent, error) {
	t := bearer(r)
	if t == "" {
		return a.agent(r)
	}
	return a.c.Presence.AuthenticateLogs(r.Context(), t)
}

// bearer returns the token of a request, or "".
func bearer(r *http.Request) string {
	t := r.Header.Get(codersdk.SessionTokenHeader)
	if t == "" {
		t, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	return t
}

// connections are the open connections, which stop ends.
type connections struct {
	mu     sync.Mutex
	closed bool
	cancel map[uuid.UUID]context.CancelFunc
	wait   sync.WaitGroup
}

// add registers a connection and returns its context and a function to call at
// its end. ok is false once the API is stopping.
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
