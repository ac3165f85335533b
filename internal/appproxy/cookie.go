package appproxy

import (
	"net/http"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// Cookies of this package. On HTTPS those on app hosts have a prefix with which
// no other host can set them.
const (
	sessionCookie    = "coder_session_token"               // the dashboard's, used by path apps
	appSessionCookie = "coder_subdomain_app_session_token" // a workspaceapp session of the host
	appTokenCookie   = "coder_signed_app_token"            // a signed app token
	stateCookie      = workspaceapp.StateParam             // binds a sign-in to the browser
	hostPrefix       = "__Host-"
)

// maxCookie bounds the value of a cookie, in bytes: browsers store at most 4,096
// bytes including its name.
const maxCookie = 3500

// cookieName returns the name that a cookie of this package has at an address.
// The prefix does not allow a path, so app tokens of path apps have none.
func (p *Proxy) cookieName(addr address, name string) string {
	if p.secure && cookiePath(addr, name) == "/" {
		return hostPrefix + name
	}
	return name
}

// cookiePath returns the path of a cookie of this package: the whole host, except
// for app tokens of path apps, which share a host.
func cookiePath(addr address, name string) string {
	if addr.method == workspaceapp.MethodPath && name == appTokenCookie {
		return addr.base
	}
	return "/"
}

// isOwnName reports whether a cookie or query parameter belongs to this package,
// so that apps may neither see nor set it.
func isOwnName(name string) bool {
	name = strings.ToLower(strings.TrimSpace(name))
	switch strings.TrimPrefix(name, strings.ToLower(hostPrefix)) {
	case sessionCookie, appSessionCookie, appTokenCookie, stateCookie, workspaceapp.TicketParam, workspaceapp.TerminalParam:
		return true
	}
	return false
}

// cookieValues returns the values of all cookies with the name; a browser may
// send several.
func cookieValues(r *http.Request, name string) (values []string) {
	for _, c := range r.CookiesNamed(name) {
		if c.Value != "" {
			values = append(values, c.Value)
		}
	}
	return values
}

// setCookies stores the cookies of a decision in the browser.
func (p *Proxy) setCookies(w http.ResponseWriter, addr address, d decision) {
	if d.session != "" {
		p.setCookie(w, addr, appSessionCookie, d.session, 0)
	}
	if d.appToken != "" && len(d.appToken) <= maxCookie {
		p.setCookie(w, addr, appTokenCookie, d.appToken, int(workspaceapp.PassDuration.Seconds()))
	}
}

// setCookie sets a cookie of this package for the app's address only. With 0
// seconds the browser drops it when it closes; an empty value deletes it.
func (p *Proxy) setCookie(w http.ResponseWriter, addr address, name, value string, seconds int) {
	c := &http.Cookie{
		Name:     p.cookieName(addr, name),
		Value:    value,
		Path:     cookiePath(addr, name),
		MaxAge:   seconds,
		HttpOnly: true,
		Secure:   p.secure,
		SameSite: http.SameSiteLaxMode,
	}
	if value == "" {
		c.MaxAge = -1
	}
	w.Header().Add("Set-Cookie", c.String())
}

// cleanCookies removes the cookies of this package from a Cookie header and
// leaves all others unchanged.
func cleanCookies(header string) string {
	kept := make([]string, 0, strings.Count(header, ";")+1)
	for cookie := range strings.SplitSeq(header, ";") {
		name, _, _ := strings.Cut(cookie, "=")
		if !isOwnName(name) && strings.TrimSpace(cookie) != "" {
			kept = append(kept, cookie)
		}
	}
	return strings.TrimSpace(strings.Join(kept, ";"))
}

// scopeCookie limits the Set-Cookie header of an app to the app's own host and,
// for a path app, to its path. It returns "" for a header that must be dropped.
func scopeCookie(header, base string) string {
	parts := strings.Split(header, ";")
	name, _, _ := strings.Cut(parts[0], "=")
	if isOwnName(name) {
		return ""
	}
	kept := parts[:1]
	for _, part := range parts[1:] {
		attribute, value, _ := strings.Cut(part, "=")
		value = strings.TrimSpace(value)
		switch strings.ToLower(strings.TrimSpace(attribute)) {
		case "domain":
			continue
		case "path":
			if base != "" && value != base && !strings.HasPrefix(value, base+"/") {
				part = " Path=" + base
			}
		}
		kept = append(kept, part)
	}
	return strings.Join(kept, ";")
}
