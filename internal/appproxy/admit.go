package appproxy

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/app"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
)

// admit finds the target of a visit that may be made, and sets it. Without an
// error and a target it has answered already.
func (p *Proxy) admit(w http.ResponseWriter, r *http.Request, v *visit) error {
	explicit := token(r)
	if explicit == "" {
		for _, text := range cookies(r, p.cookie(v, passCookie)) {
			pass, ok := p.c.Door.Pass(text, v.method, v.name)
			if !ok {
				continue
			}
			if err := p.ambient(r, v, &pass.Target); err != nil {
				return err
			}
			v.target, v.user, v.key, v.known = &pass.Target, pass.UserID, pass.KeyID, true
			return nil
		}
	}
	e, err := p.c.Door.Enter(r.Context(), p.visitor(r, v, explicit))
	if err != nil {
		return err
	}
	if e.Renewed != "" {
		p.giveCookie(w, v, appSessionCookie, e.Renewed, 0)
	}
	if v.method == app.MethodPath && strings.EqualFold(v.name.Owner, "me") && e.User != uuid.Nil {
		to := *r.URL
		to.Path, to.RawPath = "/@"+e.Username+strings.TrimPrefix(r.URL.Path, "/@"+v.name.Owner), ""
		send(w, r, to.String(), http.StatusTemporaryRedirect)
		return nil
	}
	if !e.Allowed {
		if e.User == uuid.Nil {
			return p.signIn(w, r, v)
		}
		return hidden(e.Username)
	}
	if explicit == "" {
		if err := p.ambient(r, v, &e.Target); err != nil {
			return err
		}
	}
	v.target, v.user, v.key, v.pass, v.carried = &e.Target, e.User, e.Key, e.Pass, explicit == ""
	return nil
}

// hidden is the answer to somebody who may not open an app, or to whom there is none.
func hidden(username string) error {
	return coder.Errorf(coder.CodeNotFound, "There is no such app, or you may not open it").
		WithDetail("you are signed in as %s; ask the owner of the workspace to share it with you", username)
}

// maxCookie bounds the value of a cookie: browsers keep 4,096 bytes with its name.
const maxCookie = 3500

// token gives the token of ours that a program sent with a request. One in the
// query does not count: pages can read their own address.
func token(r *http.Request) string {
	if t := r.Header.Get(client.SessionTokenHeader); t != "" {
		return t
	}
	if t, ok := bearer(r.Header.Get("Authorization")); ok {
		return t
	}
	return ""
}

// bearer gives the token of an Authorization header that is one of ours. Apps
// may have bearer tokens of their own.
func bearer(header string) (string, bool) {
	scheme, t, _ := strings.Cut(strings.TrimSpace(header), " ")
	t = strings.TrimSpace(t)
	return t, strings.EqualFold(scheme, "Bearer") && identity.IsToken(t)
}

// visitor is who comes, with the token or the sessions that they have here.
func (p *Proxy) visitor(r *http.Request, v *visit, explicit string) Visitor {
	out := Visitor{
		Method: v.method, Name: v.name, Host: v.host, Token: explicit, Origin: access.Origin{IP: p.c.ClientIP(r), UserAgent: r.UserAgent()},
	}
	switch {
	case explicit != "":
	case v.method == app.MethodPath && !p.away():
		out.Sessions = cookies(r, sessionCookie)
	default:
		out.Sessions = cookies(r, p.cookie(v, appSessionCookie))
	}
	return out
}

// signIn sends a browser to where its user can sign in. Others are told.
func (p *Proxy) signIn(w http.ResponseWriter, r *http.Request, v *visit) error {
	if !wantsPage(r) || r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Upgrade") != "" {
		return coder.Errorf(coder.CodeUnauthenticated, "Sign in to open this app").
			WithDetail("open it in a browser, or send a token in the header %s", client.SessionTokenHeader)
	}
	to := *p.c.Dashboard
	if v.method == app.MethodPath && !p.away() {
		to.Path = strings.TrimSuffix(to.Path, "/") + "/login"
		to.RawQuery = url.Values{"redirect": {r.URL.RequestURI()}}.Encode()
	} else {
		host := r.Host
		if v.method == app.MethodPath {
			host = p.c.AccessURL.Host
		}
		back := url.URL{Scheme: p.c.AccessURL.Scheme, Host: host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
		back.RawQuery = joinQuery(back.RawQuery, app.StateParam+"="+p.departure(w, r, v))
		to.Path = strings.TrimSuffix(to.Path, "/") + "/api/v2/applications/auth-redirect"
		to.RawQuery = url.Values{"redirect_uri": {back.String()}}.Encode()
	}
	w.Header().Set("Cache-Control", "no-store")
	send(w, r, to.String(), http.StatusSeeOther)
	return nil
}

// hand gives the browser of a visit a pass, unless a program sent a token.
func (p *Proxy) hand(w http.ResponseWriter, v *visit) {
	if v.carried && v.pass != "" && len(v.pass) <= maxCookie {
		p.giveCookie(w, v, passCookie, v.pass, int(app.PassDuration.Seconds()))
	}
}

// ready answers what needs no app to answer: an address that lacks its slash or
// the app's own query. It refuses what cannot be reached.
func (p *Proxy) ready(w http.ResponseWriter, r *http.Request, v *visit) error {
	t := v.target
	if !v.known {
		if done, err := p.reachable(w, r, v); done || err != nil {
			return err
		}
		p.hand(w, v)
	}
	u, err := appURL(t)
	if err != nil {
		return err
	}
	answered := func(to string) error {
		send(w, r, to, http.StatusTemporaryRedirect)
		v.target = nil
		return nil
	}
	switch upgrade := r.Header.Get("Upgrade") != ""; {
	case v.rest == "" && !upgrade:
		return answered(v.base + "/" + suffix("?", r.URL.RawQuery))
	case v.rest == "/" && r.URL.RawQuery == "" && u.RawQuery != "" && !upgrade && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		return answered(v.base + "/?" + u.RawQuery)
	case strings.Trim(u.Path, "/") != "" && app.Climbs(v.rest):
		return coder.Errorf(coder.CodeInvalid, "This path leads out of the app")
	}
	return nil
}

// reachable says why the app of a visit cannot be passed on to; a command's
// visitor goes to a terminal.
func (p *Proxy) reachable(w http.ResponseWriter, r *http.Request, v *visit) (done bool, err error) {
	t := v.target
	switch {
	case t.Port != 0 && v.method == app.MethodPath:
		return false, coder.Errorf(coder.CodeNotFound, "Ports are opened at host names of their own only").
			WithDetail("use coder port-forward, or the host name of the port if the server has a wildcard access URL")
	case t.Command != "":
		to := *p.c.Dashboard
		to.Path = "/@" + t.OwnerName + "/" + t.WorkspaceName + "." + t.AgentName + "/terminal"
		to.RawQuery = url.Values{"app": {t.App}}.Encode()
		send(w, r, to.String(), http.StatusTemporaryRedirect)
		v.target = nil
		return true, nil
	case t.External:
		return false, coder.Errorf(coder.CodeInvalid, "%s is not a page of the workspace", t.Title).
			WithDetail("it opens by itself from the dashboard, or with coder open app")
	}
	return false, unreachable(t)
}

// appURL gives the URL of a target, which its template wrote.
func appURL(t *app.Target) (*url.URL, error) {
	u, err := url.Parse(t.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return nil, coder.Errorf(coder.CodeInvalid, "The template gives %s no URL that can be opened", t.Title).
			WithDetail("url of a coder_app must be like http://localhost:8080")
	}
	return u, nil
}

func suffix(sep, s string) string {
	if s == "" {
		return ""
	}
	return sep + s
}

func joinQuery(a, b string) string {
	if a == "" {
		return b
	}
	return a + "&" + b
}
