package appproxy

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/app"
)

// ours says whether pages of an origin may use the app with the visitor's
// rights: those of the app itself, those of the dashboard, and those of other
// apps of the same owner. (NET-10)
func (p *Proxy) ours(origin string, v *visit) bool {
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	if err != nil || u.User != nil {
		return false
	}
	if host := app.HostName(u.Host); sameOrigin(u, p.c.Dashboard) && host == app.HostName(p.c.Dashboard.Host) {
		return true
	} else if !sameOrigin(u, p.c.AccessURL) {
		return false
	} else if host == v.host {
		return true
	}
	if v.method == app.MethodPath {
		return false
	}
	n, under, err := p.c.Hosts.Parse(u.Host)
	return under && err == nil && strings.EqualFold(n.Owner, v.name.Owner)
}

// sameOrigin says whether two addresses have one scheme and port.
func sameOrigin(u, v *url.URL) bool { return u.Scheme == v.Scheme && port(u) == port(v) }

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// ambient refuses a request that a page made a browser send which is not one
// of ours: the browser's cookies say who its user is, not that the user wanted
// it. Links to an app are followed from anywhere. Public apps ask for nobody's
// rights, and those of templates with cors_behavior passthru look themselves.
func (p *Proxy) ambient(r *http.Request, v *visit, t *app.Target) error {
	if v.friend || t.Level == coder.WorkspaceAppSharingLevelPublic || t.CORS == coder.CORSBehaviorPassthru && v.method == app.MethodSubdomain {
		return nil
	}
	if r.Header.Get("Origin") == "" {
		site, mode, dest := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode"), r.Header.Get("Sec-Fetch-Dest")
		safe := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case site == "" || site == "same-origin" || site == "none":
			return nil
		case mode == "navigate" && dest == "document" && safe:
			return nil
		case p.ours(r.Referer(), v):
			return nil
		}
	}
	return coder.Errorf(coder.CodeForbidden, "A page of another site may not use this app in your name").
		WithDetail("open the app by its own address, or let the template's cors_behavior be passthru if the app checks by itself")
}

// preflight says whether a browser asks if a page of another origin may send a
// request.
func preflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// preflight answers such a question, except of apps that do so themselves. It
// carries no cookies, so nobody is known to ask.
func (p *Proxy) preflight(w http.ResponseWriter, r *http.Request, v *visit) (done bool, err error) {
	if v.method == app.MethodSubdomain {
		t, err := p.c.Door.Find(r.Context(), v.name)
		if err == nil && t.CORS == coder.CORSBehaviorPassthru {
			return false, nil
		}
		if err != nil && !coder.Is(err, coder.CodeNotFound) {
			return false, err
		}
	}
	h := w.Header()
	h.Add("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	if v.friend {
		h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Allow-Methods", r.Header.Get("Access-Control-Request-Method"))
		if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
			h.Set("Access-Control-Allow-Headers", asked)
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return true, nil
}

// answerOrigin puts our word in place of an app's on who may read its answer.
func answerOrigin(h http.Header, r *http.Request, v *visit) {
	if v.method == app.MethodSubdomain && v.target.CORS == coder.CORSBehaviorPassthru {
		return
	}
	exposed := h.Values("Access-Control-Expose-Headers")
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") {
			delete(h, name)
		}
	}
	if origin := r.Header.Get("Origin"); v.friend {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		h["Access-Control-Expose-Headers"] = exposed
		if len(exposed) == 0 {
			delete(h, "Access-Control-Expose-Headers")
		}
	}
	h.Add("Vary", "Origin")
}
