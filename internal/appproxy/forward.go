package appproxy

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/app"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
)

// rewrite makes the request to the app of the one to us. ReverseProxy has taken
// out what concerns one connection alone, and the usual headers of proxies.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	v := visitOf(r.In.Context())
	u, err := appURL(v.target)
	if err != nil {
		return // ready has looked; the transport refuses what has no host
	}
	out := r.Out
	out.URL.Scheme, out.URL.Host = u.Scheme, address(v.target.AgentID, u)
	escaped := strings.TrimSuffix(u.EscapedPath(), "/") + v.rest
	if v.rest == "" { // of an upgrade, which cannot be sent elsewhere
		escaped += "/"
	}
	if plain, err := url.PathUnescape(escaped); err == nil {
		out.URL.Path, out.URL.RawPath = plain, escaped
	}
	// Apps compare the host with the origin of their pages.
	out.Host = r.In.Host
	p.clean(out.Header)
	if ip := p.c.ClientIP(r.In); ip.IsValid() {
		out.Header.Set("X-Forwarded-For", ip.String())
	}
	out.Header.Set("X-Forwarded-Host", r.In.Host)
	out.Header.Set("X-Forwarded-Proto", p.c.AccessURL.Scheme)
	if v.base != "" {
		out.Header.Set("X-Forwarded-Prefix", v.base)
	}
}

// clean takes out what is not for an app to see, and what clients may say of
// themselves that an app would take for the word of a proxy. To some apps a
// header with an underscore is one with a hyphen.
func (p *Proxy) clean(h http.Header) {
	for name := range h {
		switch strings.ToLower(strings.ReplaceAll(name, "_", "-")) {
		case "coder-session-token", "forwarded", "x-real-ip", "true-client-ip", "x-original-url", "x-rewrite-url", "proxy":
			delete(h, name)
		case "authorization":
			for _, value := range h[name] {
				if _, ok := bearer(value); ok {
					delete(h, name)
					break
				}
			}
		case "referer":
			h[name] = []string{cleanReferrer(h.Get(name))}
		case "cookie":
			kept := h[name][:0:0]
			for _, line := range h[name] {
				if line = cleanCookies(line); line != "" {
					kept = append(kept, line)
				}
			}
			h[name] = kept
			if len(kept) == 0 {
				delete(h, name)
			}
		default:
			if strings.HasPrefix(strings.ToLower(strings.ReplaceAll(name, "_", "-")), "x-forwarded-") {
				delete(h, name)
			}
		}
	}
}

// cleanReferrer takes what is ours out of the query of a referrer.
func cleanReferrer(referrer string) string {
	page, query, ok := strings.Cut(referrer, "?")
	if !ok {
		return referrer
	}
	query, _ = cleanQuery(query)
	return page + suffix("?", query)
}

// modify makes our answer of the app's: its cookies stay its own, and it says
// nothing in the name of the host that is not only its own.
func (p *Proxy) modify(resp *http.Response) error {
	r := resp.Request
	v := visitOf(r.Context())
	h := resp.Header
	answerOrigin(h, r, v)
	p.visited(v, resp.StatusCode)
	h.Del("Alt-Svc") // it is the way to us that this would change
	if v.carried {
		h.Set("Cache-Control", private(h.Get("Cache-Control")))
	}
	if v.method == app.MethodPath {
		for _, name := range []string{"Service-Worker-Allowed", "Clear-Site-Data", "Strict-Transport-Security", "Nel", "Report-To"} {
			h.Del(name)
		}
	}
	if set := h["Set-Cookie"]; len(set) > 0 {
		kept := set[:0:0]
		for _, c := range set {
			if c = scopedCookie(c, v.base); c != "" {
				kept = append(kept, c)
			}
		}
		h["Set-Cookie"] = kept
	}
	return nil
}

// private keeps caches that many share from an answer that brings a cookie of
// ours.
func private(control string) string {
	kept := []string{"private"}
	for directive := range strings.SplitSeq(control, ",") {
		name, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(directive)), "=")
		switch name {
		case "", "public", "private", "s-maxage", "proxy-revalidate":
		default:
			kept = append(kept, strings.TrimSpace(directive))
		}
	}
	return strings.Join(kept, ", ")
}

// broken says why an app did not answer the request that was made of ours.
func (p *Proxy) broken(w http.ResponseWriter, out *http.Request, err error) {
	v := visitOf(out.Context())
	r := v.in
	if r.Context().Err() != nil {
		w.WriteHeader(http.StatusBadGateway) // or a client that only stopped to send would be told that all is well
		return
	}
	p.c.Log.DebugContext(r.Context(), "an app did not answer", "workspace_id", v.target.WorkspaceID, "agent_id", v.target.AgentID, "app", v.target.App, "error", err)
	// A pass may be older than what became of the workspace.
	if v.known {
		p.giveCookie(w, v, passCookie, "", 0)
	}
	if now, findErr := p.c.Door.Find(r.Context(), v.name); findErr == nil {
		if v.known && now.AgentID != v.target.AgentID && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			send(w, r, p.here(r).String(), http.StatusTemporaryRedirect)
			return
		}
		if why := unreachable(&now); why != nil {
			p.fail(w, r, v, why)
			return
		}
		v.target.Health = now.Health
	}
	p.fail(w, r, v, silent(v.target, err))
}

// silent says that an app of a workspace that runs does not answer.
func silent(t *app.Target, err error) error {
	where := t.URL
	if u, parseErr := url.Parse(t.URL); parseErr == nil {
		where = u.Host
	}
	if coder.Is(err, coder.CodePrecondition) {
		detail := "the workspace runs, but nothing takes connections at " + where + "; start it, or look at the log of the agent if a script should"
		if t.Health == coder.WorkspaceAppHealthInitializing {
			detail = "it is still starting; " + where + " has not answered its health check yet"
		}
		return coder.Errorf(coder.CodeUnavailable, "%s does not run", upper(t.Title)).WithDetail("%s", detail).WithCause(err)
	}
	return coder.Errorf(coder.CodeUnavailable, "%s did not answer", upper(t.Title)).
		WithDetail("%s in the workspace ended the connection, or speaks something else than %s", where, protocol(t.URL)).WithCause(err)
}

func protocol(u string) string {
	if strings.HasPrefix(u, "https:") {
		return "HTTPS"
	}
	return "HTTP"
}

func upper(s string) string {
	if strings.HasPrefix(s, "port ") {
		return "P" + s[1:]
	}
	return s
}

// unreachable says why a workspace's apps cannot be reached now; nil when
// they can.
func unreachable(t *app.Target) error {
	no := func(text, todo string) error {
		return coder.Errorf(coder.CodeUnavailable, "%s", text).WithDetail("%s", todo)
	}
	name := t.OwnerName + "/" + t.WorkspaceName
	if !t.Running || t.AgentID == (app.Target{}).AgentID {
		switch t.Status {
		case coder.WorkspaceStatusPending, coder.WorkspaceStatusStarting:
			return no("The workspace is starting", "this page works as soon as it runs; follow it with coder show "+name)
		case coder.WorkspaceStatusStopping:
			return no("The workspace is stopping", "start it again when it has stopped: coder start "+name)
		case coder.WorkspaceStatusStopped, coder.WorkspaceStatusRunning: // a dormant one had been running
			return no("The workspace is stopped", "start it from the dashboard, or with: coder start "+name)
		case coder.WorkspaceStatusDeleting, coder.WorkspaceStatusDeleted:
			return no("The workspace is being deleted", "its apps are gone")
		}
		return no("The workspace did not start", "its last build failed or was canceled; see why with coder show "+name+", and try coder start "+name)
	}
	switch t.Agent {
	case coder.WorkspaceAgentStatusConnected:
		return nil
	case coder.WorkspaceAgentStatusConnecting:
		return no("The workspace's agent has not connected yet", "it should within a minute or two of the start; this page works then")
	case coder.WorkspaceAgentStatusTimeout:
		return no("The workspace's agent did not connect in time", "see the log of the build and of the machine, or restart it: coder restart "+name)
	}
	return no("The workspace's agent has lost its connection", "its machine may be down or have no network; if it stays so, restart it: coder restart "+name)
}

// visited has the visit in the connection log.
func (p *Proxy) visited(v *visit, status int) {
	if p.c.Connections == nil {
		return
	}
	kind := coder.ConnectionTypeWorkspaceApp
	if v.target.Port != 0 {
		kind = coder.ConnectionTypePortForwarding
	}
	p.c.Connections.Visit(connection.Connection{
		Type: kind, AgentID: v.target.AgentID, UserID: v.user, App: v.target.App, Status: status,
		Origin: access.Origin{IP: p.c.ClientIP(v.in), UserAgent: v.in.UserAgent()},
	})
}
