package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// maxRedirect bounds the address that the browser is sent back to, in bytes.
const maxRedirect = 8 << 10

// applicationRoutes serve sign-in for workspace apps. Package appproxy serves
// the apps themselves.
func (a *API) applicationRoutes() []rest.Route {
	if a.Apps == nil {
		return nil
	}
	return []rest.Route{
		{Method: "GET", Path: "/applications/auth-redirect", Summary: "Sign a browser in at the host of an app",
			Auth: rest.AuthSelf, Status: http.StatusTemporaryRedirect, Handler: a.getAuthRedirect},
		{Method: "POST", Path: "/applications/reconnecting-pty-signed-token", Summary: "Get a signed token for a terminal",
			Action: codersdk.RBACActionSSH, Resource: codersdk.RBACResourceWorkspace, In: codersdk.IssueReconnectingPTYSignedTokenRequest{},
			Out: codersdk.IssueReconnectingPTYSignedTokenResponse{}, Handler: a.postTerminalToken},
	}
}

// getAuthRedirect sends a signed-in browser back to the host of an app, with an
// authorization code for a session there. A browser without a session signs in
// first. (NET-07)
func (a *API) getAuthRedirect(w http.ResponseWriter, r *http.Request) error {
	back, err := a.appAddress(r.Context(), r.URL.Query().Get("redirect_uri"))
	if err != nil {
		return err
	}
	signed, err := a.authenticate(rest.Route{Auth: rest.AuthUser}, w, r)
	if codersdk.Is(err, codersdk.CodeUnauthenticated) && rest.WantsPage(r) {
		to := url.URL{Path: "/login", RawQuery: url.Values{"redirect": {r.URL.RequestURI()}}.Encode()}
		http.Redirect(w, r, to.String(), http.StatusTemporaryRedirect)
		return nil
	}
	if err != nil {
		return err
	}
	code, err := a.Apps.NewTicket(rest.Actor(signed), workspaceapp.HostName(back.Host), back.Query().Get(workspaceapp.StateParam))
	if err != nil {
		return err
	}
	if back.RawQuery != "" {
		back.RawQuery += "&"
	}
	back.RawQuery += workspaceapp.TicketParam + "=" + code
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, back.String(), http.StatusTemporaryRedirect)
	return nil
}

// appAddress parses the address of an app of this deployment. Any other address
// is refused, because the redirect carries an authorization code.
func (a *API) appAddress(ctx context.Context, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if text == "" || len(text) > maxRedirect || err != nil || u.User != nil || u.Opaque != "" {
		return nil, codersdk.Invalid("redirect_uri", "must be the address of a workspace app")
	}
	sites, err := a.proxySites(ctx)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(sites, func(s workspaceapp.Site) bool { return s.Serves(u) }) {
		u.Fragment = ""
		return u, nil
	}
	if u.Scheme != a.AccessURL.Scheme || u.Port() != a.AccessURL.Port() {
		return nil, codersdk.Invalid("redirect_uri", "must be the address of a workspace app, with the scheme and port of %s", a.AccessURL)
	}
	if _, under, err := a.AppHosts.Parse(u.Host); !under || err != nil {
		return nil, codersdk.Invalid("redirect_uri", "%q is not the host of a workspace app", rest.Truncate(u.Host, 100))
	}
	u.Fragment = ""
	return u, nil
}

// postTerminalToken signs a token with which the user may open one agent's
// terminal through a server that does not have the user's session.
func (a *API) postTerminalToken(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.IssueReconnectingPTYSignedTokenRequest](r)
	if err != nil {
		return err
	}
	u, err := url.Parse(req.URL)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Path, Prefix+"/workspaceagents/"+req.AgentID.String()+"/pty") {
		return codersdk.Invalid("url", "must be the terminal address of agent %s", req.AgentID)
	}
	sites, err := a.proxySites(r.Context())
	if err != nil {
		return err
	}
	if !strings.EqualFold(u.Host, a.AccessURL.Host) && !slices.ContainsFunc(sites, func(s workspaceapp.Site) bool {
		return strings.EqualFold(u.Host, s.Host())
	}) {
		return codersdk.Invalid("url", "%q is not a host of this deployment", rest.Truncate(u.Host, 100))
	}
	agent, err := a.Presence.AgentForUser(r.Context(), rest.Actor(r), req.AgentID, codersdk.RBACActionSSH)
	if err != nil {
		return err
	}
	token, err := a.Apps.NewTerminalToken(rest.Actor(r), agent.ID)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, codersdk.IssueReconnectingPTYSignedTokenResponse{SignedToken: token})
}

// terminalToken authenticates a request by the signed token in its query, or by
// the user's session when there is no token.
func (a *API) terminalToken(next rest.HandlerFunc) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		text := r.URL.Query().Get(workspaceapp.TerminalParam)
		if text == "" || a.Apps == nil {
			r, err := a.authenticate(rest.Route{Auth: rest.AuthUser}, w, r)
			if err != nil {
				return err
			}
			return next(w, r)
		}
		if err := a.limits.Allow("ip " + a.origin(r).IP.String()); err != nil {
			return err
		}
		id, err := rest.PathID(r, "workspaceagent")
		if err != nil {
			return err
		}
		key, ok := a.Apps.Terminal(text, id)
		if !ok {
			return codersdk.Errorf(codersdk.CodeUnauthenticated, "The terminal token is invalid or expired; request a new one")
		}
		subject, err := a.Identity.AuthenticateKey(r.Context(), key, a.origin(r))
		if err != nil {
			return err
		}
		return next(w, r.WithContext(rest.WithSubject(r.Context(), subject)))
	}
}
