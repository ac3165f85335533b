package appproxy

import (
	"context"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// forwarding is the fourth step: a request that is on its way to its app. It does
// not change once the request is sent.
type forwarding struct {
	in          *http.Request // as the client sent it
	address     address
	decision    decision
	origin      access.Origin
	trustedPage bool // see credentials
}

type forwardingKey struct{}

func forwardingOf(ctx context.Context) *forwarding { return ctx.Value(forwardingKey{}).(*forwarding) }

// session returns the request as a session whose access is watched.
func (f *forwarding) session() Session {
	return Session{
		User:   f.decision.user,
		KeyID:  f.decision.keyID,
		Method: f.address.method,
		Name:   f.address.name,
		Target: f.decision.target,
		Origin: f.origin,
	}
}

// rewriteRequest makes the request to the app. ReverseProxy has already removed
// the hop-by-hop headers and the usual proxy headers.
func (p *Proxy) rewriteRequest(r *httputil.ProxyRequest) {
	f := forwardingOf(r.In.Context())
	target := f.decision.target
	u, err := appURL(target)
	if err != nil {
		return // decidePath has checked it; the transport refuses a request without a host
	}
	out := r.Out
	out.URL.Scheme, out.URL.Host = u.Scheme, formatAgentHost(target.AgentID, u)
	escaped := strings.TrimSuffix(u.EscapedPath(), "/") + f.address.rest
	if f.address.rest == "" { // an upgrade, which cannot be redirected
		escaped += "/"
	}
	if plain, err := url.PathUnescape(escaped); err == nil {
		out.URL.Path, out.URL.RawPath = plain, escaped
	}
	// Apps compare the host with the origin of their pages.
	out.Host = r.In.Host
	cleanHeaders(out.Header)
	if f.origin.IP.IsValid() {
		out.Header.Set("X-Forwarded-For", f.origin.IP.String())
	}
	out.Header.Set("X-Forwarded-Host", r.In.Host)
	out.Header.Set("X-Forwarded-Proto", p.c.AccessURL.Scheme)
	if f.address.base != "" {
		out.Header.Set("X-Forwarded-Prefix", f.address.base)
	}
}

// cleanHeaders removes what an app must not see, and headers in which clients
// could pose as a trusted proxy. Some apps read an underscore in a header name as
// a hyphen, so both count.
func cleanHeaders(h http.Header) {
	for name := range h {
		normal := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
		switch normal {
		case "coder-session-token", "forwarded", "x-real-ip", "true-client-ip", "x-original-url", "x-rewrite-url", "proxy":
			delete(h, name)
		case "authorization":
			for _, value := range h[name] {
				if _, ok := bearerToken(value); ok {
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
			if strings.HasPrefix(normal, "x-forwarded-") {
				delete(h, name)
			}
		}
	}
}

// cleanReferrer removes the parameters of this package from a referrer.
func cleanReferrer(referrer string) string {
	page, query, ok := strings.Cut(referrer, "?")
	if !ok {
		return referrer
	}
	query, _ = cleanQuery(query)
	return page + prefixed("?", query)
}

// rewriteResponse adapts an app's response: its cookies stay with the app, and
// a path app cannot set headers that affect the whole host.
func (p *Proxy) rewriteResponse(resp *http.Response) error {
	f := forwardingOf(resp.Request.Context())
	h := resp.Header
	setCORSHeaders(h, resp.Request, f)
	p.logRequest(f, resp.StatusCode)
	h.Del("Alt-Svc") // it would describe this server, not the app
	if f.decision.browser {
		h.Set("Cache-Control", privateCacheControl(h.Get("Cache-Control")))
	}
	if f.address.method == workspaceapp.MethodPath {
		for _, name := range []string{"Service-Worker-Allowed", "Clear-Site-Data", "Strict-Transport-Security", "Nel", "Report-To"} {
			h.Del(name)
		}
	}
	if set := h["Set-Cookie"]; len(set) > 0 {
		kept := set[:0:0]
		for _, c := range set {
			if c = scopeCookie(c, f.address.base); c != "" {
				kept = append(kept, c)
			}
		}
		h["Set-Cookie"] = kept
	}
	return nil
}

// privateCacheControl keeps shared caches from storing a response that sets a
// cookie of this package.
func privateCacheControl(control string) string {
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

// handleForwardError explains why an app did not respond. out is the request to
// the app.
func (p *Proxy) handleForwardError(w http.ResponseWriter, out *http.Request, err error) {
	f := forwardingOf(out.Context())
	r := f.in
	if r.Context().Err() != nil {
		w.WriteHeader(http.StatusBadGateway) // a client that only stopped sending would otherwise see a success
		return
	}
	target := *f.decision.target
	p.c.Log.DebugContext(r.Context(), "app did not respond",
		"workspace_id", target.WorkspaceID, "agent_id", target.AgentID, "app", target.App, "error", err)
	// The workspace may have changed since the app token was signed.
	if f.decision.fromToken {
		p.setCookie(w, f.address, appTokenCookie, "", 0)
	}
	if now, resolveErr := p.c.Authorizer.Resolve(r.Context(), f.address.name); resolveErr == nil {
		if f.decision.fromToken && now.AgentID != target.AgentID && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			redirect(w, r, p.sameAddress(r).String(), http.StatusTemporaryRedirect)
			return
		}
		if notRunning := checkRunning(&now); notRunning != nil {
			p.replyError(w, r, &target, notRunning)
			return
		}
		target.Health = now.Health
	}
	p.replyError(w, r, &target, noResponseError(&target, err))
}

// logRequest adds the request to the connection log.
func (p *Proxy) logRequest(f *forwarding, status int) {
	if p.c.Connections == nil {
		return
	}
	target := f.decision.target
	kind := codersdk.ConnectionTypeWorkspaceApp
	if target.Port != 0 {
		kind = codersdk.ConnectionTypePortForwarding
	}
	p.c.Connections.Visit(connection.Connection{
		Type:    kind,
		AgentID: target.AgentID,
		UserID:  f.decision.user,
		App:     target.App,
		Status:  status,
		Origin:  f.origin,
	})
}
