package appproxy

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// stateSeconds is the lifetime of the state cookie.
const stateSeconds = 600

// startSignIn redirects a browser to where its user can sign in. Other clients
// receive an error.
func (p *Proxy) startSignIn(w http.ResponseWriter, r *http.Request, addr address) error {
	if !wantsPage(r) || !canRedirect(r) {
		return codersdk.Errorf(codersdk.CodeUnauthenticated, "Sign in to open this app").
			WithDetail("open it in a browser, or send a token in the header %s", codersdk.SessionTokenHeader)
	}
	to := *p.c.Dashboard
	if addr.method == workspaceapp.MethodPath && !p.remoteDashboard() {
		to.Path = strings.TrimSuffix(to.Path, "/") + "/login"
		to.RawQuery = url.Values{"redirect": {r.URL.RequestURI()}}.Encode()
	} else {
		host := r.Host
		if addr.method == workspaceapp.MethodPath {
			host = p.c.AccessURL.Host
		}
		back := url.URL{Scheme: p.c.AccessURL.Scheme, Host: host, Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
		if back.RawQuery != "" {
			back.RawQuery += "&"
		}
		back.RawQuery += workspaceapp.StateParam + "=" + p.signInState(w, r, addr)
		to.Path = strings.TrimSuffix(to.Path, "/") + "/api/v2/applications/auth-redirect"
		to.RawQuery = url.Values{"redirect_uri": {back.String()}}.Encode()
	}
	w.Header().Set("Cache-Control", "no-store")
	redirect(w, r, to.String(), http.StatusSeeOther)
	return nil
}

// signInState returns the state that binds a sign-in to this browser: the hash of
// a cookie. Without it, an attacker could sign a user in to an app as themselves.
func (p *Proxy) signInState(w http.ResponseWriter, r *http.Request, addr address) string {
	if all := cookieValues(r, p.cookieName(addr, stateCookie)); len(all) > 0 && len(all[0]) == 2*sha256.Size {
		return hashState(all[0]) // another tab has started already
	}
	b := make([]byte, sha256.Size)
	rand.Read(b) //nolint:errcheck // documented never to fail
	state := hex.EncodeToString(b)
	p.setCookie(w, addr, stateCookie, state, stateSeconds)
	return hashState(state)
}

func hashState(state string) string {
	h := sha256.Sum256([]byte(state))
	return hex.EncodeToString(h[:])
}

// finishSignIn redirects a browser whose address held parameters of this package
// to the address without them. A page could read them otherwise. If the browser
// brought an authorization code, it is exchanged for a session first.
func (p *Proxy) finishSignIn(w http.ResponseWriter, r *http.Request, addr address, code string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	again := p.sameAddress(r)
	if code != "" && (addr.method == workspaceapp.MethodSubdomain || p.remoteDashboard()) && !p.exchangeCode(w, r, addr, code) {
		e := codersdk.Errorf(codersdk.CodeInvalid, "Signing in to this app failed").
			WithDetail("the browser does not store cookies of this address, or signing in took longer than a minute")
		p.writeError(w, r, http.StatusBadRequest, e, &link{again.String(), "Try again"})
		return
	}
	redirect(w, r, again.String(), http.StatusSeeOther)
}

// exchangeCode sets the session cookie for an authorization code. It reports
// whether the code belongs to a sign-in that this browser started.
func (p *Proxy) exchangeCode(w http.ResponseWriter, r *http.Request, addr address, code string) bool {
	for _, state := range cookieValues(r, p.cookieName(addr, stateCookie)) {
		if session, ok := p.c.Authorizer.ExchangeCode(r.Context(), code, addr.host, hashState(state)); ok {
			p.setCookie(w, addr, appSessionCookie, session, 0)
			p.setCookie(w, addr, stateCookie, "", 0)
			return true
		}
	}
	return false
}

// sameAddress returns the address of a request, to redirect to.
func (p *Proxy) sameAddress(r *http.Request) *url.URL {
	u := &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}
	if strings.HasPrefix(u.EscapedPath(), "//") { // without a host, the path would be read as one
		u.Scheme, u.Host = p.c.AccessURL.Scheme, r.Host
	}
	return u
}

// withoutOwnQuery returns the request without the query parameters of this
// package, the authorization code among them, and whether there were any.
func withoutOwnQuery(r *http.Request) (out *http.Request, code string, found bool) {
	clean, found := cleanQuery(r.URL.RawQuery)
	if !found {
		return r, "", false
	}
	code = r.URL.Query().Get(workspaceapp.TicketParam)
	u := *r.URL
	u.RawQuery = clean
	out = r.WithContext(r.Context())
	out.URL = &u
	return out, code, true
}

// cleanQuery removes the parameters of this package from a query and leaves all
// others unchanged. It reports whether there were any.
func cleanQuery(raw string) (clean string, found bool) {
	var b strings.Builder
	for rest := raw; rest != ""; {
		param, sep := rest, ""
		if i := strings.IndexAny(rest, "&;"); i >= 0 {
			param, sep, rest = rest[:i], rest[i:i+1], rest[i+1:]
		} else {
			rest = ""
		}
		key, _, _ := strings.Cut(param, "=")
		plain, err := url.QueryUnescape(key)
		if err == nil && isOwnName(plain) {
			found = true
			continue
		}
		b.WriteString(param + sep)
	}
	if !found {
		return raw, false
	}
	return strings.TrimRight(b.String(), "&;"), true
}
