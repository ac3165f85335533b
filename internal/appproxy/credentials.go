package appproxy

import (
	"net/http"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/identity/credential"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// credentials is the second step: what a request carries about its user and
// about the page that sent it. Nothing in it is verified.
type credentials struct {
	token     string   // that a program sent; browsers have none
	appTokens []string // signed app tokens in cookies; none with token
	sessions  []string // session cookies for this address; none with token
	origin    access.Origin
	// trustedPage reports whether the request's Origin header is one of a page
	// that may use the app with the user's rights, and read its responses.
	trustedPage bool
}

func (p *Proxy) readCredentials(r *http.Request, addr address) credentials {
	c := credentials{
		token:       requestToken(r),
		origin:      access.Origin{IP: p.c.ClientIP(r), UserAgent: r.UserAgent()},
		trustedPage: p.trustedOrigin(r.Header.Get("Origin"), addr),
	}
	if c.token != "" {
		return c
	}
	c.appTokens = cookieValues(r, p.cookieName(addr, appTokenCookie))
	if addr.method == workspaceapp.MethodPath && !p.remoteDashboard() {
		c.sessions = cookieValues(r, sessionCookie)
	} else {
		c.sessions = cookieValues(r, p.cookieName(addr, appSessionCookie))
	}
	return c
}

// requestToken returns the session or API token that a program sent in a header,
// or "". A token in the query does not count: pages can read their own address.
func requestToken(r *http.Request) string {
	if t := r.Header.Get(codersdk.SessionTokenHeader); t != "" {
		return t
	}
	if t, ok := bearerToken(r.Header.Get("Authorization")); ok {
		return t
	}
	return ""
}

// bearerToken returns the token of an Authorization header, and reports whether
// it is a token of this server. Apps may use bearer tokens of their own.
func bearerToken(header string) (string, bool) {
	scheme, t, _ := strings.Cut(strings.TrimSpace(header), " ")
	t = strings.TrimSpace(t)
	return t, strings.EqualFold(scheme, "Bearer") && credential.IsToken(t)
}
