package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// siteRoutes serve the deployment's configuration, appearance, statistics and
// replicas. (CP-06, CP-19, CP-26, APP-01)
func (a *API) siteRoutes() []rest.Route {
	if a.Site == nil {
		return nil
	}
	const config = codersdk.RBACResourceDeploymentConfig
	const read, debug = codersdk.RBACActionRead, codersdk.RBACResourceDebugInfo
	return []rest.Route{
		{Method: "GET", Path: "/deployment/config", Summary: "Get the server configuration without secrets",
			Action: read, Resource: config, Out: codersdk.DeploymentConfig{}, Handler: a.getDeploymentConfig},
		{Method: "GET", Path: "/deployment/stats", Summary: "Get deployment statistics",
			Action: read, Resource: codersdk.RBACResourceDeploymentStats, Out: codersdk.DeploymentStats{}, Handler: a.getDeploymentStats},
		{Method: "GET", Path: "/appearance", Summary: "Get the appearance settings",
			Auth: rest.AuthPublic, Out: codersdk.AppearanceConfig{}, Handler: a.getDeploymentAppearance},
		{Method: "PUT", Path: "/appearance", Summary: "Update the appearance settings",
			Action: codersdk.RBACActionUpdate, Resource: config, In: codersdk.UpdateAppearanceConfig{},
			Out: codersdk.UpdateAppearanceConfig{}, Handler: a.putDeploymentAppearance},
		{Method: "GET", Path: "/replicas", Summary: "List replicas",
			Action: read, Resource: codersdk.RBACResourceReplicas, Out: []codersdk.Replica{}, Handler: a.getReplicas},
		{Method: "POST", Path: "/csp/reports", Summary: "Report a violation of the Content-Security-Policy",
			Auth: rest.AuthPublic, MaxBody: 16 << 10, In: codersdk.CSPViolation{}, Handler: a.postCSPReport},
		{Method: "GET", Path: "/debug/coordinator", Summary: "List the agents that this server's relay knows",
			Action: read, Resource: debug, Out: codersdk.RelayDebug{}, Handler: a.getRelayDebug},
		{Method: "GET", Path: "/debug/tailnet", Summary: "List the agents that this server's relay knows",
			Action: read, Resource: debug, Out: codersdk.RelayDebug{}, Handler: a.getRelayDebug},
	}
}

func (a *API) getDeploymentConfig(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Site.Settings(rest.Actor(r))
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getDeploymentStats(w http.ResponseWriter, r *http.Request) error {
	return rest.ServeResult(a.Site.Stats)(w, r)
}

func (a *API) getDeploymentAppearance(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Site.Appearance(r.Context())
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) putDeploymentAppearance(w http.ResponseWriter, r *http.Request) error {
	return rest.ServeChange(a.Site.SetAppearance)(w, r)
}

func (a *API) getReplicas(w http.ResponseWriter, r *http.Request) error {
	return rest.ServeResult(a.Site.Replicas)(w, r)
}

// postCSPReport logs a violation that a browser reports. Browsers also send
// reports without a session, so the content is not trusted.
func (a *API) postCSPReport(w http.ResponseWriter, r *http.Request) error {
	in, err := rest.Decode[codersdk.CSPViolation](r)
	if err != nil {
		return err
	}
	report := map[string]string{}
	for _, key := range []string{"document-uri", "blocked-uri", "violated-directive", "effective-directive", "source-file"} {
		if text, ok := in.Report[key].(string); ok {
			report[key] = rest.Truncate(text, 300)
		}
	}
	b, err := json.Marshal(report)
	if err != nil {
		return err
	}
	a.Log.WarnContext(r.Context(), "browser reported a Content-Security-Policy violation", "report", string(b))
	return rest.Reply(w, http.StatusOK, "ok")
}

func (a *API) getRelayDebug(w http.ResponseWriter, r *http.Request) error {
	if err := deployment.Check(rest.Actor(r), codersdk.RBACActionRead, codersdk.RBACResourceDebugInfo); err != nil {
		return err
	}
	out := codersdk.RelayDebug{Connections: []codersdk.RelayDebugAgent{}}
	if a.Relay != nil {
		out = a.Relay()
	}
	return rest.Reply(w, http.StatusOK, out)
}

// healthRoutes report the health of the deployment. (HC-01)
func (a *API) healthRoutes() []rest.Route {
	if a.Health == nil {
		return nil
	}
	const read, debug = codersdk.RBACActionRead, codersdk.RBACResourceDebugInfo
	return []rest.Route{
		{Method: "GET", Path: "/debug/health", Summary: "Get the health report",
			Action: read, Resource: debug, Out: codersdk.HealthcheckReport{}, Handler: a.getHealth},
		{Method: "GET", Path: "/debug/health/history", Summary: "List the health reports of the last 24 hours by section",
			About:  "Each server reports once per --health-check-refresh, and when a user runs the checks.",
			Action: read, Resource: debug, Out: codersdk.HealthHistory{}, Handler: rest.ServeResult(a.Health.History)},
		{Method: "GET", Path: "/debug/health/settings", Summary: "Get the dismissed health sections",
			Action: read, Resource: debug, Out: codersdk.HealthSettings{}, Handler: rest.ServeResult(a.Health.Settings)},
		{Method: "PUT", Path: "/debug/health/settings", Summary: "Dismiss health sections",
			Action: codersdk.RBACActionUpdate, Resource: codersdk.RBACResourceDeploymentConfig, In: codersdk.HealthSettings{},
			Out: codersdk.HealthSettings{}, Handler: rest.ServeChange(a.Health.SetSettings)},
		{Method: "GET", Path: "/debug/ws", Summary: "Echo one WebSocket message", Auth: rest.AuthPublic, Status: 101, Handler: echo},
	}
}

func (a *API) getHealth(w http.ResponseWriter, r *http.Request) error {
	force, err := rest.QueryBool(r, "force")
	if err != nil {
		return err
	}
	out, err := a.Health.Report(r.Context(), rest.Actor(r), force)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

const (
	maxEcho  = 1 << 10 // bytes of the echoed message
	echoWait = 10 * time.Second
)

// echo sends one message back. The health check uses it to find out whether
// WebSockets reach the server.
func echo(w http.ResponseWriter, r *http.Request) error {
	conn, err := rest.AcceptWebSocket(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	conn.SetReadLimit(maxEcho)
	ctx, cancel := context.WithTimeout(r.Context(), echoWait)
	defer cancel()
	kind, b, err := conn.Read(ctx)
	if err != nil {
		return nil //nolint:nilerr // the client went away
	}
	if conn.Write(ctx, kind, b) == nil {
		conn.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // the peer may be gone
	}
	return nil
}
