package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// bypassHeader asks to skip the rate limit. Only owners may send it. (CP-14)
const bypassHeader = "X-Coder-Bypass-Ratelimit"

// origin returns the address, user agent and request id of the request.
func (a *API) origin(r *http.Request) access.Origin {
	if o, ok := access.OriginOf(r.Context()); ok {
		return o
	}
	return access.Origin{IP: a.Clients.IP(r), UserAgent: r.UserAgent(), Path: r.URL.Path}
}

// authenticate checks the token that the route's Auth requires, then counts the
// request against the rate limit of its user or address.
func (a *API) authenticate(route rest.Route, w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	if route.Auth == rest.AuthAgent || route.Auth == rest.AuthSelf {
		return r, nil
	}
	ip := a.origin(r).IP.String()
	if route.Auth == rest.AuthPublic {
		return r, a.limits.AllowPublic(ip)
	}
	secret, cookie := codersdk.TokenOf(r)
	if cookie {
		if err := a.checkSameSite(r); err != nil {
			return r, err
		}
	}
	subject, err := a.Identity.Authenticate(r.Context(), secret, a.origin(r))
	if err != nil {
		if limited := a.limits.Allow("ip " + ip); limited != nil {
			return r, limited
		}
		if cookie && codersdk.Is(err, codersdk.CodeUnauthenticated) {
			a.setSessionCookie(w, "")
		}
		return r, err
	}
	if r.Header.Get(bypassHeader) == "true" {
		if !subject.IsOwner() {
			return r, &rest.StatusError{Status: http.StatusPreconditionRequired, Err: codersdk.Errorf(codersdk.CodePrecondition,
				"Only owners may bypass the rate limit; remove the header %s", bypassHeader)}
		}
	} else if err := a.limits.Allow("user " + subject.UserID.String()); err != nil {
		return r, err
	}
	return r.WithContext(rest.WithSubject(r.Context(), subject)), nil
}

// longRequest is the age at which a request is treated as a stream that must
// end when its user loses access.
const longRequest = 5 * time.Second

// cancelOnRevocation returns the request with a context that is canceled when
// its user loses access. For WebSockets this applies at once, for other
// requests after longRequest. The caller calls release after the handler
// returns.
func (a *API) cancelOnRevocation(r *http.Request) (held *http.Request, end func()) {
	actor, ok := rest.SubjectOf(r.Context())
	if !ok {
		return r, func() {}
	}
	if r.Header.Get("Upgrade") != "" {
		ctx, end := a.Identity.Hold(r.Context(), actor, nil)
		return r.WithContext(ctx), end
	}
	ctx, cancel := context.WithCancel(r.Context())
	late := time.AfterFunc(longRequest, func() {
		lasting, done := a.Identity.Hold(ctx, actor, nil)
		defer done()
		<-lasting.Done()
		cancel()
	})
	return r.WithContext(ctx), func() { late.Stop(); cancel() }
}

// checkSameSite refuses a request that a page of another site made the browser
// send.
func (a *API) checkSameSite(r *http.Request) error {
	if err := a.origins.Check(r); err != nil {
		return codersdk.Errorf(codersdk.CodeForbidden, "The request was sent by a page of another site, which is not allowed").WithCause(err)
	}
	return nil
}

// setSessionCookie stores the session token in a cookie; an empty token deletes
// the cookie.
func (a *API) setSessionCookie(w http.ResponseWriter, token string) {
	c := &http.Cookie{
		Name: codersdk.SessionCookie, Value: token, Path: "/", HttpOnly: true,
		Secure: a.SecureCookies, SameSite: http.SameSiteLaxMode,
	}
	if a.SameSiteNone {
		c.SameSite = http.SameSiteNoneMode
	}
	if token == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}
