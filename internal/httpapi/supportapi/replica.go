package supportapi

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/replicatoken"
)

// replicaPath is the path, below the address of a replica, of the views that it
// serves to other replicas.
const replicaPath = "/api/v2/replicas/debug/"

// subjectOf returns the subject of the token for one request: the view and its query.
func subjectOf(view, query string) []byte { return []byte("GET " + view + "?" + query) }

// forward requests the view of another replica and replies with its response. The
// request carries a token for exactly this request instead of the session token of
// the user, because the addresses of replicas may be without TLS.
func (a *API) forward(w http.ResponseWriter, r *http.Request, view string, id uuid.UUID) error {
	gone := codersdk.Errorf(codersdk.CodeUnavailable, "The replica %s is not running; list the replicas again", id)
	if a.c.Replicas == nil || a.signer == nil {
		return gone
	}
	all, err := a.c.Replicas(r.Context(), rest.Actor(r))
	if err != nil {
		return err
	}
	for _, replica := range all {
		if replica.ID == id {
			return a.forwardTo(w, r, view, replica)
		}
	}
	return gone
}

func (a *API) forwardTo(w http.ResponseWriter, r *http.Request, view string, replica codersdk.Replica) error {
	to, err := url.Parse(replica.RelayAddress)
	if err != nil || to.Host == "" {
		return codersdk.Errorf(codersdk.CodeUnavailable,
			"The replica %s has no address for the other replicas; set its --derp-server-relay-url", replica.Hostname)
	}
	q := r.URL.Query()
	q.Del("replica")
	to.Path, to.RawPath, to.RawQuery = strings.TrimSuffix(to.Path, "/")+replicaPath+view, "", q.Encode()
	var failed error
	proxy := &httputil.ReverseProxy{
		Transport: a.c.Transport,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL, p.Out.Host = to, ""
			p.Out.Header = http.Header{replicatoken.Header: {a.signer.Token(replica.ID, subjectOf(view, to.RawQuery))}}
		},
		ModifyResponse: func(resp *http.Response) error {
			switch resp.StatusCode {
			case http.StatusUnauthorized: // not the session of the user
				return codersdk.Errorf(codersdk.CodeUnavailable,
					"The replica %s refused the request; check that --derp-server-relay-url leads to it and that the clocks of the servers agree", replica.Hostname)
			case http.StatusNotFound:
				return codersdk.Errorf(codersdk.CodeUnavailable, "The replica %s runs a version without this view; ask it after its upgrade", replica.Hostname)
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	proxy.ServeHTTP(w, r)
	if failed == nil || codersdk.Is(failed, codersdk.CodeUnavailable) {
		return failed
	}
	return codersdk.Errorf(codersdk.CodeUnavailable, "The replica %s does not answer at %s", replica.Hostname, replica.RelayAddress).WithCause(failed)
}

// getForReplica serves a view to another replica, which has checked the permission
// of the user.
func (a *API) getForReplica(w http.ResponseWriter, r *http.Request) error {
	view := r.PathValue("view")
	if a.signer == nil {
		return codersdk.Errorf(codersdk.CodeUnauthenticated, "This server has no other replicas")
	}
	if err := a.signer.Admit(r.Header.Get(replicatoken.Header), a.c.Replica, subjectOf(view, r.URL.RawQuery)); err != nil {
		return err
	}
	return a.serveView(w, r, view)
}
