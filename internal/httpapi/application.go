package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/app"
)

// maxRedirect bounds the address that a browser comes from and is sent back to.
const maxRedirect = 8 << 10

// applicationRoutes are about the apps of workspaces; they themselves are
// served by appproxy.
func (a *API) applicationRoutes() []Route {
	if a.Apps == nil {
		return nil
	}
	return []Route{
		{Method: "GET", Path: "/applications/auth-redirect", Summary: "Take a browser's session to the host of an app", Auth: AuthSelf, Status: http.StatusTemporaryRedirect, Handler: a.getAuthRedirect},
		{Method: "POST", Path: "/applications/reconnecting-pty-signed-token", Summary: "Get a token to open a terminal with", Action: coder.RBACActionSSH, Resource: coder.RBACResourceWorkspace, In: coder.IssueReconnectingPTYSignedTokenRequest{}, Out: coder.IssueReconnectingPTYSignedTokenResponse{}, Handler: a.postTerminalToken},
	}
}

// getAuthRedirect sends a browser that has a session back to the host of an
// app, with a ticket for a session there; one that has none goes to sign in
// first. (NET-07)
func (a *API) getAuthRedirect(w http.ResponseWriter, r *http.Request) error {
	back, err := a.appAddress(r.Context(), r.URL.Query().Get("redirect_uri"))
	if err != nil {
		return err
	}
	signed, err := a.authenticate(Route{Auth: AuthUser}, w, r)
	if coder.Is(err, coder.CodeUnauthenticated) && strings.Contains(r.Header.Get("Accept"), "text/html") {
		to := url.URL{Path: "/login", RawQuery: url.Values{"redirect": {r.URL.RequestURI()}}.Encode()}
		http.Redirect(w, r, to.String(), http.StatusTemporaryRedirect)
		return nil
	}
	if err != nil {
		return err
	}
	ticket, err := a.Apps.NewTicket(a.actor(signed), app.HostName(back.Host), back.Query().Get(app.StateParam))
	if err != nil {
		return err
	}
	if back.RawQuery != "" {
		back.RawQuery += "&"
	}
	back.RawQuery += app.TicketParam + "=" + ticket
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, back.String(), http.StatusTemporaryRedirect)
	return nil
}

// appAddress reads an address that must be one of an app of this deployment,
// or else anybody could be sent a ticket.
func (a *API) appAddress(ctx context.Context, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if text == "" || len(text) > maxRedirect || err != nil || u.User != nil || u.Opaque != "" {
		return nil, coder.Invalid("redirect_uri", "give the address of an app")
	}
	proxies, err := a.proxies(ctx)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(proxies, func(p proxyHosts) bool { return p.serves(u) }) {
		u.Fragment = ""
		return u, nil
	}
	if u.Scheme != a.AccessURL.Scheme || u.Port() != a.AccessURL.Port() {
		return nil, coder.Invalid("redirect_uri", "give the address of an app, with the scheme and port of %s", a.AccessURL)
	}
	if _, under, err := a.AppHosts.Parse(u.Host); !under || err != nil {
		return nil, coder.Invalid("redirect_uri", "%q is not the host of an app", clip(u.Host, 100))
	}
	u.Fragment = ""
	return u, nil
}

// postTerminalToken signs that the user may open a terminal of an agent, for
// servers that have no session of theirs.
func (a *API) postTerminalToken(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.IssueReconnectingPTYSignedTokenRequest](r)
	if err != nil {
		return err
	}
	u, err := url.Parse(req.URL)
	if err != nil || u.Host == "" || !strings.EqualFold(u.Path, Prefix+"/workspaceagents/"+req.AgentID.String()+"/pty") {
		return coder.Invalid("url", "it must be that of the terminal of agent %s", req.AgentID)
	}
	proxies, err := a.proxies(r.Context())
	if err != nil {
		return err
	}
	if !strings.EqualFold(u.Host, a.AccessURL.Host) && !slices.ContainsFunc(proxies, func(p proxyHosts) bool {
		at, _, ok := p.parse()
		return ok && strings.EqualFold(u.Host, at.Host)
	}) {
		return coder.Invalid("url", "%q is not a host of this deployment", clip(u.Host, 100))
	}
	agent, err := a.Presence.AgentForUser(r.Context(), a.actor(r), req.AgentID, coder.RBACActionSSH)
	if err != nil {
		return err
	}
	token, err := a.Apps.NewTerminalToken(a.actor(r), agent.ID)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, coder.IssueReconnectingPTYSignedTokenResponse{SignedToken: token})
}

// terminalToken lets a request in by such a token in its query, or else by its
// user's session.
func (a *API) terminalToken(next HandlerFunc) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		text := r.URL.Query().Get(app.TerminalParam)
		if text == "" || a.Apps == nil {
			r, err := a.authenticate(Route{Auth: AuthUser}, w, r)
			if err != nil {
				return err
			}
			return next(w, r)
		}
		if err := a.limits.take("ip " + a.origin(r).IP.String()); err != nil {
			return err
		}
		id, err := pathID(r, "workspaceagent")
		if err != nil {
			return err
		}
		key, ok := a.Apps.Terminal(text, id)
		if !ok {
			return coder.Errorf(coder.CodeUnauthenticated, "The token of this terminal is not good, or not any more; get another")
		}
		subject, err := a.Identity.AuthenticateKey(r.Context(), key, a.origin(r))
		if err != nil {
			return err
		}
		return next(w, r.WithContext(context.WithValue(r.Context(), subjectKey, subject)))
	}
}
