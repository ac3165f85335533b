package appproxy

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// trustedOrigin reports whether pages of an origin may use the app with the
// user's rights: pages of the app itself, of the dashboard, and of other apps of
// the same owner. (NET-10)
func (p *Proxy) trustedOrigin(origin string, addr address) bool {
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	if err != nil || u.User != nil {
		return false
	}
	host := workspaceapp.HostName(u.Host)
	switch {
	case sameSchemeAndPort(u, p.c.Dashboard) && host == workspaceapp.HostName(p.c.Dashboard.Host):
		return true
	case !sameSchemeAndPort(u, p.c.AccessURL):
		return false
	case host == addr.host:
		return true
	case addr.method == workspaceapp.MethodPath:
		return false
	}
	name, under, err := p.c.Hosts.Parse(u.Host)
	return under && err == nil && strings.EqualFold(name.Owner, addr.name.Owner)
}

func sameSchemeAndPort(u, v *url.URL) bool { return u.Scheme == v.Scheme && portOf(u) == portOf(v) }

// portOf returns the port of a URL, or the default port of its scheme.
func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// checkPage refuses a request that an untrusted page made the browser send: the
// browser's cookies identify the user but do not prove that the user wanted the
// request. Links to an app may be followed from anywhere. Public apps need no
// user, and apps of templates with cors_behavior passthru check origins on their
// own.
func (p *Proxy) checkPage(r *http.Request, addr address, creds credentials, t *workspaceapp.Target) error {
	if creds.trustedPage || t.Level == codersdk.WorkspaceAppSharingLevelPublic || passesCORS(addr, t) {
		return nil
	}
	if r.Header.Get("Origin") == "" {
		site, mode, dest := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode"), r.Header.Get("Sec-Fetch-Dest")
		read := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case site == "" || site == "same-origin" || site == "none":
			return nil
		case mode == "navigate" && dest == "document" && read:
			return nil
		case p.trustedOrigin(r.Referer(), addr):
			return nil
		}
	}
	return codersdk.Errorf(codersdk.CodeForbidden, "A page of another site may not use this app with your account").
		WithDetail("open the app at its own address, or set cors_behavior to passthru in the template if the app checks origins itself")
}

// passesCORS reports whether the app itself decides which origins may read its
// responses. Path apps never do: they share their origin with the dashboard.
func passesCORS(addr address, t *workspaceapp.Target) bool {
	return addr.method == workspaceapp.MethodSubdomain && t.CORS == codersdk.CORSBehaviorPassthru
}

// isPreflight reports whether a browser asks if a page of another origin may send
// a request.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// replyPreflight replies to a preflight request, except for apps that do so
// themselves. A preflight carries no cookies, so access is not checked.
func (p *Proxy) replyPreflight(w http.ResponseWriter, r *http.Request, addr address, creds credentials) (replied bool, err error) {
	if addr.method == workspaceapp.MethodSubdomain {
		t, err := p.c.Authorizer.Resolve(r.Context(), addr.name)
		if err == nil && passesCORS(addr, &t) {
			return false, nil
		}
		if err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
			return false, err
		}
	}
	h := w.Header()
	h.Add("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	if creds.trustedPage {
		h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Allow-Methods", r.Header.Get("Access-Control-Request-Method"))
		if requested := r.Header.Get("Access-Control-Request-Headers"); requested != "" {
			h.Set("Access-Control-Allow-Headers", requested)
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return true, nil
}

// setCORSHeaders replaces the CORS headers of an app's response, unless the app
// decides them itself.
func setCORSHeaders(h http.Header, r *http.Request, f *forwarding) {
	if passesCORS(f.address, f.decision.target) {
		return
	}
	exposed := h.Values("Access-Control-Expose-Headers")
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") {
			delete(h, name)
		}
	}
	if f.trustedPage {
		h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		h.Set("Access-Control-Allow-Credentials", "true")
		if len(exposed) > 0 {
			h["Access-Control-Expose-Headers"] = exposed
		}
	}
	h.Add("Vary", "Origin")
}
