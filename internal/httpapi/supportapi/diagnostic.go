package supportapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/replicatoken"
)

// maxProfileSeconds is the maximum duration of a recorded profile.
const maxProfileSeconds = 30

// profiles returns the names of the available profiles.
func profiles() []string {
	return []string{"heap", "allocs", "goroutine", "mutex", "block", "threadcreate", "profile", "trace"}
}

// diagnosticRoutes serve the administrators' views of a server.
func (a *API) diagnosticRoutes() []rest.Route {
	const read, debug = codersdk.RBACActionRead, codersdk.RBACResourceDebugInfo
	replica := rest.Param{Name: "replica", Type: "string", About: "ID of the replica to ask; default: the replica that answers the request."}
	return []rest.Route{
		{Method: "GET", Path: "/debug/logs", Summary: "Read the newest log lines of a server",
			About:  "Text, oldest line first, at most 2 MiB from memory, with secrets removed. Each replica has its own log.",
			Action: read, Resource: debug, Query: []rest.Param{replica}, Handler: a.getView(viewLogs)},
		{Method: "GET", Path: "/debug/metrics", Summary: "Read the metrics of a server",
			About:  "Prometheus text format.",
			Action: read, Resource: debug, Query: []rest.Param{replica}, Handler: a.getView(viewMetrics)},
		{Method: "GET", Path: "/debug/pprof", Summary: "Record a profile of a server",
			About:  "In pprof format; a trace is for go tool trace.",
			Action: read, Resource: debug, Query: []rest.Param{
				{Name: "profile", Type: "string", About: "One of " + strings.Join(profiles(), ", ") + "; default heap."},
				{Name: "seconds", Type: "integer", About: "Duration of profile and trace, at most 30; default 10."},
				replica,
			}, Handler: a.getView(viewProfile)},
		{Method: "GET", Path: "/replicas/debug/{view}", Summary: "Read the log, the metrics or a profile of a server as another replica",
			About: "Needs a token in the header " + replicatoken.Header + ", which only replicas of the deployment can create. It is valid for one request.",
			Auth:  rest.AuthSelf, Handler: a.getForReplica},
	}
}

// getView returns the handler of a view. The handler checks the permission, and
// then serves the view or requests that of the replica that the query names.
func (a *API) getView(view string) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := deployment.Check(rest.Actor(r), codersdk.RBACActionRead, codersdk.RBACResourceDebugInfo); err != nil {
			return err
		}
		id, err := rest.QueryID(r, "replica")
		switch {
		case err != nil:
			return err
		case id != uuid.Nil && id != a.c.Replica:
			return a.forward(w, r, view, id)
		}
		return a.serveView(w, r, view)
	}
}

// The views of a server, by the last element of their paths.
const viewLogs, viewMetrics, viewProfile = "logs", "metrics", "pprof"

// serveView serves a view of this server. A view that it does not have is unavailable.
func (a *API) serveView(w http.ResponseWriter, r *http.Request, view string) error {
	switch {
	case view == viewLogs && a.c.Logs != nil:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Write(a.redact.Bytes(a.c.Logs())) //nolint:errcheck // the client went away
		return nil
	case view == viewMetrics && a.c.Metrics != nil:
		a.c.Metrics.ServeHTTP(w, r)
		return nil
	case view == viewProfile && a.c.Profiles != nil:
		return a.serveProfile(w, r)
	}
	return codersdk.Errorf(codersdk.CodeUnavailable, "This server does not collect this information")
}

func (a *API) serveProfile(w http.ResponseWriter, r *http.Request) error {
	name := r.URL.Query().Get("profile")
	if name == "" {
		name = "heap"
	}
	if !slices.Contains(profiles(), name) {
		return codersdk.Invalid("profile", "%q is not a profile; choose one of %s", rest.Truncate(name, 32), strings.Join(profiles(), ", "))
	}
	seconds, err := rest.QueryInt(r, "seconds")
	if err != nil {
		return err
	}
	if seconds > maxProfileSeconds {
		return codersdk.Invalid("seconds", "must be at most %d, got %d", maxProfileSeconds, seconds)
	}
	inner := r.Clone(r.Context())
	q := inner.URL.Query()
	q.Del("profile")
	q.Del("seconds") // for heap, seconds would mean a delta profile
	if name == "profile" || name == "trace" {
		if seconds == 0 {
			seconds = 10
		}
		q.Set("seconds", strconv.Itoa(seconds))
	}
	inner.URL.Path, inner.URL.RawPath, inner.URL.RawQuery = "/debug/pprof/"+name, "", q.Encode()
	a.c.Profiles.ServeHTTP(w, inner)
	return nil
}
