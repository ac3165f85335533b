// Package httpapi serves the REST API under /api/v2. It turns requests into
// calls of use cases, and their results into JSON.
//
// One route table is the source of the mux, of the matrix of routes and roles,
// and of openapi.json. A handler decodes the request, makes one call and
// encodes the result. It returns an error instead of writing it: API.fail alone
// turns error codes into a status and a body. Authorization is decided by the
// use cases, not here.
//
// Every request passes the same steps: request id, version header, recovery
// from panics, metrics and a log line; then the body limit, authentication and
// the rate limit; then the handler. (CP-10, CP-11, CP-14, CP-15, AU-02)
package httpapi

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
	"github.com/seed-2a7f8fe7/coder/internal/health"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/ratelimit"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
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
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// Config holds the services and settings of the API. A nil service leaves its
// routes out.
type Config struct {
	Log          *slog.Logger
	Registerer   prometheus.Registerer // nil: no metrics
	AccessURL    *url.URL              // where users reach the server
	Version      string                // sent as X-Coder-Build-Version in every response
	Experiments  []string              // the enabled experiments
	DeploymentID string
	// WebpushPublicKey is the key that browsers subscribe with; "" without web push.
	WebpushPublicKey string
	// Tracer records requests; nil records nothing.
	Tracer *tracing.Tracer

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
	// Relay describes the agents that this server's relay knows; nil means no
	// relay.
	Relay func() codersdk.RelayDebug
	// Hub carries change notifications between replicas; nil disables live
	// updates.
	Hub *notify.Hub
	// AgentHTTP returns a client for an agent's own HTTP API, which ignores the
	// host of its requests; nil disables the routes that need it.
	AgentHTTP func(presence.Agent) *http.Client
	// AgentPTY opens a terminal of an agent; nil disables terminals.
	AgentPTY func(ctx context.Context, agent presence.Agent, arg string) (net.Conn, error)

	// RateLimit is the number of requests per minute of a user, or of an
	// address without a user. 0 means 512; a negative value disables the limit.
	RateLimit int
	// Clients determines the addresses of clients.
	Clients listen.Clients
	// SecureCookies marks session cookies for HTTPS only.
	SecureCookies bool
	// SameSiteNone lets other sites that embed the dashboard send its session
	// cookie. Requests of other sites that change data are still refused.
	SameSiteNone bool
	// AllowCORS lets pages of any origin call the API with their own token.
	// Cookies are never allowed.
	AllowCORS bool
	// SSH is the SSH configuration for clients.
	SSH codersdk.SSHConfigResponse
	// Apps are the workspace apps; AppHosts are their host names, the zero
	// value without a wildcard host.
	Apps     *workspaceapp.Service
	AppHosts workspaceapp.Hosts
	// AppRules restrict path apps.
	AppRules workspaceapp.Rules
	// Proxies are the workspace proxies.
	Proxies *proxy.Service
	// AgentAPIVersion and ProvisionerAPIVersion are the versions of the two
	// protocols, for buildinfo.
	AgentAPIVersion, ProvisionerAPIVersion string
	// TermsOfServiceURL is the address of the terms that users accept at
	// sign-in; "" for none.
	TermsOfServiceURL string
	// Latest returns the newest known release; nil without a check for updates.
	Latest func() codersdk.UpdateCheckResponse
	// PasswordAuthDisabled is reported by authmethods; Identity enforces it.
	PasswordAuthDisabled bool

	// Routes are routes of packages below httpapi; they pass the same steps as
	// the routes of this package.
	Routes []rest.Route
	// Mounts are handlers of other packages by http.ServeMux pattern, such as
	// "GET /api/v2/workspaceagents/me/rpc". They share request ids, headers,
	// metrics and log lines, and check tokens and limits themselves.
	Mounts map[string]http.Handler
}

// API serves /api/v2. It is safe for concurrent use.
type API struct {
	Config
	metrics *metrics
	limits  *ratelimit.Limiter
	origins *http.CrossOriginProtection
}

// New returns the API. It starts nothing.
func New(c Config) *API {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.AccessURL == nil {
		c.AccessURL = &url.URL{Scheme: "http", Host: "localhost"}
	}
	a := &API{Config: c, metrics: newMetrics(c.Registerer), limits: ratelimit.New(c.RateLimit), origins: http.NewCrossOriginProtection()}
	if err := a.origins.AddTrustedOrigin(c.AccessURL.Scheme + "://" + c.AccessURL.Host); err != nil {
		c.Log.Warn("access URL is not a valid origin; session cookies are accepted from the server's own host only", "error", err)
	}
	return a
}

// Routes returns the route table. Paths are relative to Prefix.
func (a *API) Routes() []rest.Route {
	table := slices.Clone(a.Config.Routes)
	for _, routes := range [][]rest.Route{
		a.deploymentRoutes(),
		a.siteRoutes(),
		a.licenseRoutes(),
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

// Prefix is the path of the API.
const Prefix = "/api/v2"

// Handler returns the handler of everything under Prefix. Unknown paths reply
// 404 and unknown methods 405, both with the error body.
func (a *API) Handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range a.Routes() {
		mux.Handle(r.Method+" "+Prefix+r.Path, a.serve(r))
	}
	for pattern, h := range a.Mounts {
		mux.Handle(pattern, h)
	}
	mux.Handle("/", a.serve(rest.Route{Auth: rest.AuthPublic, Handler: func(w http.ResponseWriter, r *http.Request) error {
		return noRoute(mux, w, r)
	}}))
	return a.cors(a.observe(mux))
}

// serve wraps a route's handler in the steps that every request passes.
func (a *API) serve(route rest.Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		max := route.MaxBody
		switch {
		case max > 0:
		case route.Auth == rest.AuthPublic:
			max = 64 << 10
		default:
			max = 1 << 20
		}
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, max)
		}
		r, err := a.authenticate(route, w, r)
		if err == nil {
			held, end := a.cancelOnRevocation(r)
			err = route.Handler(w, held)
			end()
		}
		if err != nil {
			a.fail(w, r, err)
			return
		}
		if a.Hub != nil && r.Method != http.MethodGet && route.Action != "" && route.Action != codersdk.RBACActionRead {
			a.Hub.Publish(notify.Kind(string(route.Resource)), notify.Kind(string(codersdk.RBACResourceAuditLog)))
		}
	})
}
