// Package provisionapi serves provisioner daemons: a WebSocket with yamux in it
// and one DRPC call per stream, as the contract of the provisioner wire states.
// It decides which daemons may connect with which tags (PRV-04..08), and turns
// their calls into calls of the queue.
//
// A daemon of the original protocol does not know fences and leases. For it,
// the connection remembers the fence under which each job was handed out, and
// the lease outlasts its updates every five seconds. A daemon that sends its
// fence may continue a job over another connection.
//
// Built-in daemons use the same path over an in-memory pipe.
package provisionapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/keyring"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// Config holds the dependencies and settings of the API.
type Config struct {
	Queue    *queue.Service
	Keys     *keyring.Service
	Identity *identity.Service
	Log      *slog.Logger
	// PSK lets daemons of every organization connect; "" disables it. (PRV-06)
	PSK string
	// Version is the server's version, sent with every response.
	Version string
	// Patience is the time in which a daemon must read the job that it
	// requested, plus one second for every 64 KiB; 0 means 30 s. Then the job
	// returns to the queue.
	Patience time.Duration
	// Tracer records the calls of daemons about jobs that have a trace; nil
	// records nothing.
	Tracer *tracing.Tracer
}

// API accepts daemons. It is a lifecycle.Service: Stop closes their
// connections.
type API struct {
	Config
	ctx  func() context.Context // ends at Stop
	stop context.CancelFunc

	mu      sync.Mutex
	stopped bool
	work    sync.WaitGroup
}

// New returns an API.
func New(c Config) *API {
	if c.Patience <= 0 {
		c.Patience = 30 * time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &API{Config: c, ctx: func() context.Context { return ctx }, stop: cancel}
}

// Start does nothing: the API only reacts to connections.
func (a *API) Start(context.Context) error { return nil }

// Stop closes all connections. Daemons reconnect to another replica, or to this
// one after its restart, and continue their jobs.
func (a *API) Stop(ctx context.Context) error {
	a.mu.Lock()
	a.stopped = true
	a.mu.Unlock()
	a.stop()
	done := make(chan struct{})
	go func() { a.work.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enter counts a connection, or returns an error after Stop.
func (a *API) enter() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return codersdk.Errorf(codersdk.CodeUnavailable, "The server is stopping; connect again in a moment")
	}
	a.work.Add(1)
	return nil
}

// Pattern is the pattern at which Handler is mounted.
const Pattern = "GET /api/v2/organizations/{organization}/provisionerdaemons/serve"

// Handler serves Pattern: it admits a daemon and serves it until it
// disconnects.
func (a *API) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Coder-Build-Version", a.Version)
		d, err := a.admit(r)
		if err != nil {
			a.refuse(w, r, err)
			return
		}
		ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
		if err != nil {
			return // Accept has replied
		}
		defer ws.CloseNow()
		ctx, cancel := context.WithCancel(a.ctx())
		defer cancel()
		err = a.ServeConn(ctx, websocket.NetConn(ctx, ws, websocket.MessageBinary), d)
		if err != nil && ctx.Err() == nil {
			a.Log.Warn("provisioner connection failed", "provisioner", d.Name, "organization", d.OrganizationID, "error", err)
		}
	})
}

// refuse replies with an error body of the REST API.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, body := http.StatusInternalServerError, codersdk.Response{Message: "Internal server error; the server's log has the cause"}
	if e, ok := errors.AsType[*codersdk.Error](err); ok && e.Code != codersdk.CodeInternal {
		status, body = codersdk.Status(e.Code), codersdk.Response{Message: e.Message, Detail: e.Detail, Validations: e.Fields}
	}
	if status == http.StatusInternalServerError {
		a.Log.Error("admitting a provisioner failed", "error", err)
	} else {
		a.Log.Info("provisioner refused", "status", status, "reason", body.Message, "remote", r.RemoteAddr)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body) //nolint:errcheck // the client went away
}
