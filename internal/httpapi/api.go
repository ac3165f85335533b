// Package httpapi serves the REST API under /api/v2: it turns requests into
// calls of use cases and their results into JSON. One table of routes says
// what there is; the mux, the matrix of routes and roles, and the contract
// test all come from it. A handler decodes, makes one call, and encodes; it
// returns an error instead of writing one, and one place turns the error's
// code into a status and a body. Nothing here decides what somebody may do.
//
// Every request passes the same steps: an id, the version header, a recovery
// from panics, metrics and a log line around it; then the bound of its body,
// whose token it carries, the rate limit of that user or address, and last the
// handler. (CP-10, CP-11, CP-14, CP-15, AU-02)
package httpapi

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/app"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
	"github.com/seed-2a7f8fe7/coder/internal/health"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/insight"
	"github.com/seed-2a7f8fe7/coder/internal/keyring"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/login"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/prebuild"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/proxy"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/template"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// Config is what the API needs. Services that are nil leave their routes out.
type Config struct {
	Log          *slog.Logger
	Registerer   prometheus.Registerer // nil: no metrics
	AccessURL    *url.URL              // where people reach the server
	Version      string                // in every answer's X-Coder-Build-Version
	DeploymentID string

	Identity      *identity.Service
	Login         *login.Service
	Connections   *connection.Service
	Organizations *organization.Service
	Workspaces    *workspace.Service
	Templates     *template.Service
	Presence      *presence.Service
	Queue         *queue.Service
	Keys          *keyring.Service
	Site          *deployment.Service
	Health        *health.Service
	Insights      *insight.Service
	Prebuilds     *prebuild.Service
	// Relay tells what this server's relay does; nil: there is none.
	Relay func() coder.RelayDebug
	// Hub hears what changed, and is told of what people change; nil: pages
	// are not live.
	Hub *notify.Hub
	// AgentHTTP gives a client of an agent's own HTTP API, whatever the host of
	// its requests; nil: what only agents know is not told.
	AgentHTTP func(presence.Agent) *http.Client
	// AgentPTY opens a terminal of an agent; nil: there are none.
	AgentPTY func(ctx context.Context, agent presence.Agent, arg string) (net.Conn, error)

	// RateLimit is how many requests a minute a user, or without one an
	// address, may make; 0 means 512, below 0 no limit.
	RateLimit int
	// Clients tells their addresses.
	Clients listen.Clients
	// SecureCookies marks session cookies for HTTPS only.
	SecureCookies bool
	// SameSiteNone lets pages of other sites send the session cookie where they
	// embed ours; what changes something is refused to them all the same.
	SameSiteNone bool
	// SSH is what clients should write into their SSH configuration.
	SSH coder.SSHConfigResponse
	// Apps are those of workspaces; AppHosts are the host names that they are
	// under, the zero value for none.
	Apps     *app.Service
	AppHosts app.Hosts
	// AppRules are what the deployment allows of path apps.
	AppRules app.Rules
	// Proxies are those who serve them elsewhere.
	Proxies *proxy.Service
	// AgentAPIVersion and ProvisionerAPIVersion are those of the wires.
	AgentAPIVersion, ProvisionerAPIVersion string
	// TermsOfServiceURL is what people agree to who log in; "" for nothing.
	TermsOfServiceURL string
	// PasswordAuthDisabled only says so to those who ask how to log in.
	PasswordAuthDisabled bool

	// Mounts are other edges' handlers by http.ServeMux pattern, such as
	// "GET /api/v2/workspaceagents/me/rpc". They get the same ids, headers,
	// metrics and log lines, and look after tokens and limits themselves.
	Mounts map[string]http.Handler
}

// API answers /api/v2. It is safe for concurrent use.
type API struct {
	Config
	metrics *metrics
	limits  *limiter
	origins *http.CrossOriginProtection
}

// New makes the API. It starts nothing.
func New(c Config) *API {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.AccessURL == nil {
		c.AccessURL = &url.URL{Scheme: "http", Host: "localhost"}
	}
	a := &API{Config: c, metrics: newMetrics(c.Registerer), limits: newLimiter(c.RateLimit), origins: http.NewCrossOriginProtection()}
	if err := a.origins.AddTrustedOrigin(c.AccessURL.Scheme + "://" + c.AccessURL.Host); err != nil {
		c.Log.Warn("the access URL is no origin; cookies are trusted from the server's own host only", "error", err)
	}
	return a
}

// Routes gives the table. Paths are below /api/v2. Each noun's file adds its own.
func (a *API) Routes() []Route {
	var table []Route
	for _, routes := range [][]Route{
		a.deploymentRoutes(),
		a.siteRoutes(),
		a.healthRoutes(),
		a.insightRoutes(),
		a.userRoutes(),
		a.loginRoutes(),
		a.idpSyncRoutes(),
		a.keyRoutes(),
		a.organizationRoutes(),
		a.auditRoutes(),
		a.connectionRoutes(),
		a.workspaceRoutes(),
		a.fileRoutes(),
		a.templateRoutes(),
		a.prebuildRoutes(),
		a.versionRoutes(),
		a.parameterRoutes(),
		a.buildRoutes(),
		a.agentRoutes(),
		a.applicationRoutes(),
		a.proxyRoutes(),
		a.portShareRoutes(),
		a.groupRoutes(),
		a.roleRoutes(),
		a.sharingRoutes(),
		a.provisionerRoutes(),
		a.changesRoutes(),
	} {
		table = append(table, routes...)
	}
	return table
}

// Prefix is where the API lives.
const Prefix = "/api/v2"

// Handler gives the handler of everything under /api/v2. Paths that are not
// in the table answer 404, and other methods of paths that are answer 405,
// both with the error body.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range a.Routes() {
		mux.Handle(r.Method+" "+Prefix+r.Path, a.serve(r))
	}
	for pattern, h := range a.Mounts {
		mux.Handle(pattern, h)
	}
	mux.Handle("/", a.serve(Route{Auth: AuthPublic, Handler: func(_ http.ResponseWriter, r *http.Request) error {
		return missing(mux, r)
	}}))
	return a.observe(mux)
}

// serve puts a route's steps around its handler.
func (a *API) serve(route Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		max := route.MaxBody
		switch {
		case max > 0:
		case route.Auth == AuthPublic:
			max = 64 << 10
		default:
			max = 1 << 20
		}
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, max)
		}
		r, err := a.authenticate(route, w, r)
		if err == nil {
			held, end := a.hold(r)
			err = route.Handler(w, held)
			end()
		}
		if err != nil {
			a.fail(w, r, err)
			return
		}
		if a.Hub != nil && r.Method != http.MethodGet && route.Action != "" && route.Action != coder.RBACActionRead {
			a.Hub.Publish(notify.Kind(string(route.Resource)), notify.Kind(string(coder.RBACResourceAuditLog)))
		}
	})
}
