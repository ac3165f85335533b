package appproxy

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/app"
)

// What browsers carry. In cookies for HTTPS the names of those on app hosts
// have a prefix with which no other host can set them.
const (
	sessionCookie    = "coder_session_token"               // the dashboard's, with path apps
	appSessionCookie = "coder_subdomain_app_session_token" // app.Session
	passCookie       = "coder_signed_app_token"            // app.Pass
	stateCookie      = app.StateParam                      // what a browser left for a ticket with
	hostPrefix       = "__Host-"
)

// cookie gives the name of a cookie of ours where the visit is. The prefix
// allows no path, so passes of path apps go without.
func (p *Proxy) cookie(v *visit, name string) string {
	if p.secure && cookiePath(v, name) == "/" {
		return hostPrefix + name
	}
	return name
}

// cookiePath is where a cookie of ours counts: on the whole host, but for the
// passes of path apps, which share one.
func cookiePath(v *visit, name string) string {
	if v.method == app.MethodPath && name == passCookie {
		return v.base
	}
	return "/"
}

// isOurs says whether a cookie, or a parameter, is not for apps to see or set.
func isOurs(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	switch strings.TrimPrefix(name, strings.ToLower(hostPrefix)) {
	case sessionCookie, appSessionCookie, passCookie, stateCookie, app.TicketParam, app.TerminalParam:
		return true
	}
	return false
}

// cookies gives the values of all cookies of a name, for there may be several.
func cookies(r *http.Request, name string) (out []string) {
	for _, c := range r.CookiesNamed(name) {
		if c.Value != "" {
			out = append(out, c.Value)
		}
	}
	return out
}

// giveCookie sets a cookie of ours where the app is and nowhere else; seconds
// of 0 keep it while the browser runs, and an empty value takes it away.
func (p *Proxy) giveCookie(w http.ResponseWriter, v *visit, name, value string, seconds int) {
	c := &http.Cookie{
		Name: p.cookie(v, name), Value: value, Path: cookiePath(v, name), MaxAge: seconds, HttpOnly: true, Secure: p.secure, SameSite: http.SameSiteLaxMode,
	}
	if value == "" {
		c.MaxAge = -1
	}
	w.Header().Add("Set-Cookie", c.String())
}

// departure gives what to tell the dashboard so that the browser which comes
// back with a ticket is known to be the one that left: the hash of a cookie.
// Without it, somebody could be led to an app with a ticket of another's.
func (p *Proxy) departure(w http.ResponseWriter, r *http.Request, v *visit) string {
	if all := cookies(r, p.cookie(v, stateCookie)); len(all) > 0 && len(all[0]) == 2*sha256.Size {
		return hashed(all[0]) // another tab has left already
	}
	b := make([]byte, sha256.Size)
	rand.Read(b) //nolint:errcheck // documented never to fail
	state := hex.EncodeToString(b)
	p.giveCookie(w, v, stateCookie, state, 600)
	return hashed(state)
}

func hashed(state string) string {
	h := sha256.Sum256([]byte(state))
	return hex.EncodeToString(h[:])
}

// landing takes what is ours out of the query of a request. A browser that
// brings a ticket gets its session and is sent to the clean address; so is one
// whose address holds a token, which a page could read. It says whether it has
// answered.
func (p *Proxy) landing(w http.ResponseWriter, r *http.Request, v *visit) bool {
	clean, found := cleanQuery(r.URL.RawQuery)
	if !found {
		return false
	}
	ticket := r.URL.Query().Get(app.TicketParam)
	r.URL.RawQuery = clean
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.Header.Get("Upgrade") != "" {
		return false
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	here := p.here(r)
	if ticket != "" && (v.method == app.MethodSubdomain || p.away()) {
		for _, state := range append(cookies(r, p.cookie(v, stateCookie)), "") {
			if state == "" {
				p.page(w, r, http.StatusBadRequest, coder.Errorf(coder.CodeInvalid, "Signing in to this app did not work").
					WithDetail("your browser keeps no cookies of this address, or it took longer than a minute"), &action{here.String(), "Try again"})
				return true
			}
			if session, ok := p.c.Door.Redeem(r.Context(), ticket, v.host, hashed(state)); ok {
				p.giveCookie(w, v, appSessionCookie, session, 0)
				p.giveCookie(w, v, stateCookie, "", 0)
				break
			}
		}
	}
	send(w, r, here.String(), http.StatusSeeOther)
	return true
}

// here gives the address of a request, to be sent to again.
func (p *Proxy) here(r *http.Request) *url.URL {
	u := &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	if strings.HasPrefix(u.EscapedPath(), "//") { // or it would be a host
		u.Scheme, u.Host = p.c.AccessURL.Scheme, r.Host
	}
	return u
}

// cleanQuery takes what is ours out of a query, leaving all else as it was, and
// says whether there was any.
func cleanQuery(raw string) (clean string, found bool) {
	var b strings.Builder
	for rest := raw; rest != ""; {
		piece, sep := rest, ""
		if i := strings.IndexAny(rest, "&;"); i >= 0 {
			piece, sep, rest = rest[:i], rest[i:i+1], rest[i+1:]
		} else {
			rest = ""
		}
		key, _, _ := strings.Cut(piece, "=")
		plain, err := url.QueryUnescape(key)
		if err == nil && isOurs(plain) {
			found = true
			continue
		}
		b.WriteString(piece + sep)
	}
	if !found {
		return raw, false
	}
	return strings.TrimRight(b.String(), "&;"), true
}

// cleanCookies takes our cookies out of a Cookie header, leaving all else as
// it was.
func cleanCookies(header string) string {
	kept := make([]string, 0, strings.Count(header, ";")+1)
	for piece := range strings.SplitSeq(header, ";") {
		name, _, _ := strings.Cut(piece, "=")
		if !isOurs(name) && strings.TrimSpace(piece) != "" {
			kept = append(kept, piece)
		}
	}
	return strings.TrimSpace(strings.Join(kept, ";"))
}

// scopedCookie gives a Set-Cookie header of an app as it may be passed on: for
// the app's own host and, of a path app, its own path. "" drops it.
func scopedCookie(header, base string) string {
	parts := strings.Split(header, ";")
	name, _, _ := strings.Cut(parts[0], "=")
	if isOurs(name) {
		return ""
	}
	kept := parts[:1]
	for _, p := range parts[1:] {
		attribute, value, _ := strings.Cut(p, "=")
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(attribute)) {
		case "domain":
			continue
		case "path":
			if base != "" && value != base && !strings.HasPrefix(value, base+"/") {
				p = " Path=" + base
			}
		}
		kept = append(kept, p)
	}
	return strings.Join(kept, ";")
}
