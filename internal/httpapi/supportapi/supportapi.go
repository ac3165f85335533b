// Package supportapi serves what administrators need to diagnose a deployment:
// the log, the metrics and the profiles of each server, and support bundles.
//
// A support bundle of the dashboard has the content of one of the command line.
// The server collects it through its own API, as the user who asks for it, so
// every part passes the same checks of permissions. (SUP-01)
package supportapi

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/redact"
	"github.com/seed-2a7f8fe7/coder/internal/replicatoken"
)

// Config holds the views of this server, and the means to collect bundles. A nil
// view is unavailable.
type Config struct {
	// Logs returns the newest log lines. Secrets are removed from the response.
	Logs func() []byte
	// Metrics serves the metrics in the Prometheus text format.
	Metrics http.Handler
	// Profiles serves /debug/pprof/<profile>.
	Profiles http.Handler

	// Replica identifies this server; Replicas lists all of them.
	Replica  uuid.UUID
	Replicas func(context.Context, access.Subject) ([]codersdk.Replica, error)
	// Transport sends requests to other replicas.
	Transport http.RoundTripper
	// ReplicaKey signs requests to other replicas and checks theirs. All replicas have
	// the same; nil refuses both.
	ReplicaKey []byte

	AccessURL *url.URL
	Presence  *presence.Service
	// AgentHTTP returns a client for an agent's own HTTP API.
	AgentHTTP func(presence.Agent) *http.Client
	// Secrets are removed from the log and from bundles.
	Secrets []string
	Now     func() time.Time
}

// API serves the endpoints. It is safe for concurrent use.
type API struct {
	c       Config
	handler http.Handler // of the whole API
	redact  *redact.Redactor
	signer  *replicatoken.Signer // nil without a key

	mu      sync.Mutex
	running map[uuid.UUID]bool // users whose bundle is being collected
}

// New returns the API. SetHandler must be called before it serves.
func New(c Config) *API {
	a := &API{c: c, redact: redact.New(c.Secrets...), running: map[uuid.UUID]bool{}}
	if c.ReplicaKey != nil {
		a.signer = replicatoken.New(c.ReplicaKey, c.Now)
	}
	return a
}

// SetHandler sets the handler of the whole API, from which bundles are collected.
func (a *API) SetHandler(h http.Handler) { a.handler = h }

// Routes returns the routes.
func (a *API) Routes() []rest.Route {
	return append(a.diagnosticRoutes(), rest.Route{
		Method: "GET", Path: "/debug/support-bundle", Summary: "Create a support bundle over a WebSocket",
		About: "The server sends its progress as JSON text messages, the zip file as binary messages, and then the result as the last text message. " +
			"The content depends on the permissions of the user. A user can create one bundle at a time.",
		Query: []rest.Param{
			{Name: "workspace", Type: "string", About: "ID of a workspace to include."},
			{Name: "agent", Type: "string", About: "Name of its agent; default: the first one."},
			{Name: "template", Type: "string", About: "ID of a template to include as source."},
			{Name: "pprof", Type: "boolean", About: "Include profiles of the servers, which takes 10 seconds."},
			{Name: "workspaces", Type: "integer", About: "Maximum number of workspaces to list; default 10."},
		}, Status: http.StatusSwitchingProtocols, Out: codersdk.SupportBundleProgress{}, Handler: a.serveBundle,
	})
}
