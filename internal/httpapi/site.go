package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
)

// siteRoutes are about the site as a whole: configuration, appearance,
// statistics, its servers. (CP-06, CP-19, CP-26, APP-01)
func (a *API) siteRoutes() []Route {
	if a.Site == nil {
		return nil
	}
	const config = coder.RBACResourceDeploymentConfig
	const read, debug = coder.RBACActionRead, coder.RBACResourceDebugInfo
	return []Route{
		{Method: "GET", Path: "/deployment/config", Summary: "How the server is configured, without secrets", Action: read, Resource: config, Out: coder.DeploymentConfig{}, Handler: a.getDeploymentConfig},
		{Method: "GET", Path: "/deployment/stats", Summary: "How much the deployment is in use", Action: read, Resource: coder.RBACResourceDeploymentStats, Out: coder.DeploymentStats{}, Handler: a.getDeploymentStats},
		{Method: "GET", Path: "/appearance", Summary: "How the deployment presents itself", Auth: AuthPublic, Out: coder.AppearanceConfig{}, Handler: a.getDeploymentAppearance},
		{Method: "PUT", Path: "/appearance", Summary: "Change how the deployment presents itself", Action: coder.RBACActionUpdate, Resource: config, In: coder.UpdateAppearanceConfig{}, Out: coder.UpdateAppearanceConfig{}, Handler: a.putDeploymentAppearance},
		{Method: "GET", Path: "/replicas", Summary: "The servers that share the database", Action: read, Resource: coder.RBACResourceReplicas, Out: []coder.Replica{}, Handler: a.getReplicas},
		{Method: "POST", Path: "/csp/reports", Summary: "What a browser refused because of the Content-Security-Policy", Auth: AuthPublic, MaxBody: 16 << 10, In: coder.CSPViolation{}, Handler: a.postCSPReport},
		{Method: "GET", Path: "/debug/coordinator", Summary: "The agents that this server's relay knows", Action: read, Resource: debug, Out: coder.RelayDebug{}, Handler: a.getRelayDebug},
		{Method: "GET", Path: "/debug/tailnet", Summary: "The agents that this server's relay knows", Action: read, Resource: debug, Out: coder.RelayDebug{}, Handler: a.getRelayDebug},
	}
}

func (a *API) getDeploymentConfig(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Site.Settings(a.actor(r))
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

// answer answers what a use case gives for who asks.
func answer[T any](a *API, get func(context.Context, access.Subject) (T, error)) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		out, err := get(r.Context(), a.actor(r))
		if err != nil {
			return err
		}
		return reply(w, http.StatusOK, out)
	}
}

// store decodes a body, hands it to a use case for who sends it, and answers
// the result.
func store[In, Out any](a *API, put func(context.Context, access.Subject, In) (Out, error)) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		in, err := decode[In](r)
		if err != nil {
			return err
		}
		out, err := put(r.Context(), a.actor(r), in)
		if err != nil {
			return err
		}
		return reply(w, http.StatusOK, out)
	}
}

func (a *API) getDeploymentStats(w http.ResponseWriter, r *http.Request) error {
	return answer(a, a.Site.Stats)(w, r)
}

func (a *API) getDeploymentAppearance(w http.ResponseWriter, r *http.Request) error {
	out, err := a.Site.Appearance(r.Context())
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) putDeploymentAppearance(w http.ResponseWriter, r *http.Request) error {
	return store(a, a.Site.SetAppearance)(w, r)
}

func (a *API) getReplicas(w http.ResponseWriter, r *http.Request) error {
	return answer(a, a.Site.Replicas)(w, r)
}

// postCSPReport notes what a browser refused; pages of a site that is not
// signed in send such reports too. What it says is not to be trusted.
func (a *API) postCSPReport(w http.ResponseWriter, r *http.Request) error {
	in, err := decode[coder.CSPViolation](r)
	if err != nil {
		return err
	}
	report := map[string]string{}
	for _, key := range []string{"document-uri", "blocked-uri", "violated-directive", "effective-directive", "source-file"} {
		if text, ok := in.Report[key].(string); ok {
			report[key] = clip(text, 300)
		}
	}
	b, err := json.Marshal(report)
	if err != nil {
		return err
	}
	a.Log.WarnContext(r.Context(), "a browser refused something because of the Content-Security-Policy", "report", string(b))
	return reply(w, http.StatusOK, "ok")
}

func (a *API) getRelayDebug(w http.ResponseWriter, r *http.Request) error {
	if err := deployment.Check(a.actor(r), coder.RBACActionRead, coder.RBACResourceDebugInfo); err != nil {
		return err
	}
	out := coder.RelayDebug{Connections: []coder.RelayDebugAgent{}}
	if a.Relay != nil {
		out = a.Relay()
	}
	return reply(w, http.StatusOK, out)
}

// healthRoutes say how the deployment does. (HC-01)
func (a *API) healthRoutes() []Route {
	if a.Health == nil {
		return nil
	}
	const read, debug = coder.RBACActionRead, coder.RBACResourceDebugInfo
	return []Route{
		{Method: "GET", Path: "/debug/health", Summary: "How the deployment does", Action: read, Resource: debug, Out: coder.HealthcheckReport{}, Handler: a.getHealth},
		{Method: "GET", Path: "/debug/health/settings", Summary: "Which sections nobody is warned of", Action: read, Resource: debug, Out: coder.HealthSettings{}, Handler: answer(a, a.Health.Settings)},
		{Method: "PUT", Path: "/debug/health/settings", Summary: "Dismiss sections", Action: coder.RBACActionUpdate, Resource: coder.RBACResourceDeploymentConfig, In: coder.HealthSettings{}, Out: coder.HealthSettings{}, Handler: store(a, a.Health.SetSettings)},
		{Method: "GET", Path: "/debug/ws", Summary: "A WebSocket that sends back one message", Auth: AuthPublic, Status: 101, Handler: echo},
	}
}

func (a *API) getHealth(w http.ResponseWriter, r *http.Request) error {
	force, err := queryBool(r, "force")
	if err != nil {
		return err
	}
	out, err := a.Health.Report(r.Context(), a.actor(r), force)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

const (
	maxEcho  = 1 << 10 // bytes of a message that is sent back
	echoWait = 10 * time.Second
)

// echo sends back one message, by which the server finds out whether
// WebSockets come through to it.
func echo(w http.ResponseWriter, r *http.Request) error {
	conn, err := accept(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // it is over
	conn.SetReadLimit(maxEcho)
	ctx, cancel := context.WithTimeout(r.Context(), echoWait)
	defer cancel()
	kind, b, err := conn.Read(ctx)
	if err != nil {
		return nil //nolint:nilerr // the client went away
	}
	if conn.Write(ctx, kind, b) == nil {
		conn.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // it is over
	}
	return nil
}
