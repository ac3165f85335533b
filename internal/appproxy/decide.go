package appproxy

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// decision is the third step. Exactly one of these holds without an error: the
// user signs in first, the client is redirected, or the request is forwarded to
// target.
type decision struct {
	// target is the app once the user may open it, also beside an error.
	target *workspaceapp.Target
	user   uuid.UUID // Nil for a client that is not signed in
	keyID  string    // id of the user's session
	// fromToken reports that a signed app token decided, which is up to
	// workspaceapp.PassDuration old.
	fromToken bool

	signIn   bool
	redirect string // address to open instead; "" for none

	// browser reports that the browser's cookies decided. appToken and session
	// are the cookies that it should store; "" for none.
	browser           bool
	appToken, session string
}

// decide finds out whether the request may be forwarded. It writes nothing. The
// cookies of the decision are valid with an error, too.
func (p *Proxy) decide(r *http.Request, addr address, creds credentials) (decision, error) {
	for _, text := range creds.appTokens {
		token, ok := p.c.Authorizer.VerifyToken(text, addr.method, addr.name)
		if !ok {
			continue
		}
		if err := p.checkPage(r, addr, creds, &token.Target); err != nil {
			return decision{}, err
		}
		d := decision{target: &token.Target, user: token.UserID, keyID: token.KeyID, fromToken: true}
		return p.decidePath(r, addr, d)
	}
	res, err := p.c.Authorizer.Authorize(r.Context(), Request{
		Method:   addr.method,
		Name:     addr.name,
		Host:     addr.host,
		Token:    creds.token,
		Sessions: creds.sessions,
		Origin:   creds.origin,
	})
	if err != nil {
		return decision{}, err
	}
	d := decision{user: res.User, keyID: res.KeyID, session: res.RenewedSession, browser: creds.token == ""}
	switch {
	case addr.method == workspaceapp.MethodPath && strings.EqualFold(addr.name.Owner, "me") && res.User != uuid.Nil:
		to := *r.URL
		to.Path, to.RawPath = "/@"+res.Username+strings.TrimPrefix(r.URL.Path, "/@"+addr.name.Owner), ""
		d.redirect = to.String()
		return d, nil
	case !res.Allowed && res.User == uuid.Nil:
		d.signIn = true
		return d, nil
	case !res.Allowed:
		return d, workspaceapp.Denied(res.User, res.Username)
	}
	if d.browser {
		if err := p.checkPage(r, addr, creds, &res.Target); err != nil {
			return d, err
		}
	}
	d.target = &res.Target
	if d.redirect, err = p.checkReachable(addr, d.target); err != nil || d.redirect != "" {
		return d, err
	}
	if d.browser {
		d.appToken = res.AppToken
	}
	return p.decidePath(r, addr, d)
}

// checkReachable returns an error if the request cannot be forwarded to the app.
// For a command it returns the address of a terminal instead.
func (p *Proxy) checkReachable(addr address, t *workspaceapp.Target) (redirect string, err error) {
	switch {
	case t.Port != 0 && addr.method == workspaceapp.MethodPath:
		return "", codersdk.Errorf(codersdk.CodeNotFound, "Ports are served at their own host names only").
			WithDetail("use coder port-forward, or the host name of the port if the server has a wildcard access URL")
	case t.Command != "":
		to := *p.c.Dashboard
		to.Path = "/@" + t.OwnerName + "/" + t.WorkspaceName + "." + t.AgentName + "/terminal"
		to.RawQuery = url.Values{"app": {t.App}}.Encode()
		return to.String(), nil
	case t.External:
		return "", codersdk.Errorf(codersdk.CodeInvalid, "%s is not served by the workspace", t.Title).
			WithDetail("open it from the dashboard or with coder open app")
	}
	return "", checkRunning(t)
}

// decidePath completes the decision for paths that the app does not serve: an
// address without its slash, or without the app's own query, is redirected, and
// a path above the app is refused.
func (p *Proxy) decidePath(r *http.Request, addr address, d decision) (decision, error) {
	u, err := appURL(d.target)
	if err != nil {
		return d, err
	}
	switch upgrade := r.Header.Get("Upgrade") != ""; {
	case addr.rest == "" && !upgrade:
		d.redirect = addr.base + "/" + prefixed("?", r.URL.RawQuery)
	case addr.rest == "/" && r.URL.RawQuery == "" && u.RawQuery != "" && canRedirect(r):
		d.redirect = addr.base + "/?" + u.RawQuery
	case strings.Trim(u.Path, "/") != "" && workspaceapp.Climbs(addr.rest):
		return d, codersdk.Errorf(codersdk.CodeInvalid, "The path leaves the app; remove .. from it")
	}
	return d, nil
}

// appURL returns the URL of an app as its template declares it.
func appURL(t *workspaceapp.Target) (*url.URL, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "The template declares no valid URL for %s", t.Title).
			WithDetail("set url of the coder_app to an address like http://localhost:8080")
	}
	return u, nil
}

// canRedirect reports whether a client can follow a redirect of the request: a
// read that is not an upgrade.
func canRedirect(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("Upgrade") == ""
}

// prefixed returns prefix and s, or "" if s is empty.
func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}
