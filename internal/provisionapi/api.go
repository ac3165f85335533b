// Package provisionapi is the edge at which provisioner daemons connect: a
// WebSocket, yamux in it, and one DRPC call per yamux stream, as the contract
// of the provisioner wire says. It decides who may connect with which tags
// (PRV-04..08), and turns calls into those of the queue.
//
// A daemon of the original protocol knows nothing of fences and leases: the
// connection remembers for it under which fence each job was handed out, and
// its lease is long enough for its updates every five seconds. A daemon that
// sends its fence may go on with its job over another connection.
//
// Built-in daemons take the same path over an in-memory pipe.
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

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/keyring"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// Config is what the edge needs.
type Config struct {
	Queue    *queue.Service
	Keys     *keyring.Service
	Identity *identity.Service
	Log      *slog.Logger
	// PSK lets daemons of every organization connect; "" lets none. (PRV-06)
	PSK string
	// Version of the server, which every answer carries.
	Version string
	// Patience is how long a daemon may take to read the job that it asked for,
	// beyond a second for every 64 KiB; 0 means 30 s. Then the job is another's.
	Patience time.Duration
}

// API accepts daemons. It is a lifecycle.Service: Stop ends their connections.
type API struct {
	Config
	ctx  func() context.Context // ends at Stop
	stop context.CancelFunc

	mu      sync.Mutex
	stopped bool
	work    sync.WaitGroup
}

// New makes the edge.
func New(c Config) *API {
	if c.Patience <= 0 {
		c.Patience = 30 * time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &API{Config: c, ctx: func() context.Context { return ctx }, stop: cancel}
}

// Start does nothing: connections are what lives here.
func (a *API) Start(context.Context) error { return nil }

// Stop ends all connections. Daemons come back to another replica, or to this
// one when it is there again, and go on with their jobs.
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

// enter counts a connection, unless the edge has stopped.
func (a *API) enter() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stopped {
		return coder.Errorf(coder.CodeUnavailable, "The server is stopping; connect again in a moment")
	}
	a.work.Add(1)
	return nil
}

// Pattern is where the Handler is mounted.
const Pattern = "GET /api/v2/organizations/{organization}/provisionerdaemons/serve"

// Handler answers Pattern: it admits a daemon and serves it until it goes.
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
			return // it has answered
		}
		defer ws.CloseNow()
		ctx, cancel := context.WithCancel(a.ctx())
		defer cancel()
		err = a.ServeConn(ctx, websocket.NetConn(ctx, ws, websocket.MessageBinary), d)
		if err != nil && ctx.Err() == nil {
			a.Log.Warn("the connection of a provisioner broke", "provisioner", d.Name, "organization", d.OrganizationID, "error", err)
		}
	})
}

// refuse answers with the error body of the REST API.
func (a *API) refuse(w http.ResponseWriter, r *http.Request, err error) {
	status, body := http.StatusInternalServerError, coder.Response{Message: "The server failed to do this; its log says why"}
	if e, ok := errors.AsType[*coder.Error](err); ok && e.Code != coder.CodeInternal {
		status, body = client.Status(e.Code), coder.Response{Message: e.Message, Detail: e.Detail, Validations: e.Fields}
	}
	if status == http.StatusInternalServerError {
		a.Log.Error("cannot admit a provisioner", "error", err)
	} else {
		a.Log.Info("a provisioner was refused", "status", status, "reason", body.Message, "remote", r.RemoteAddr)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body) //nolint:errcheck // it went away
}
