package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// bypassHeader asks for no rate limit; owners get it. (CP-14)
const bypassHeader = "X-Coder-Bypass-Ratelimit"

type contextKey int

const subjectKey contextKey = 0

// actor gives who sent the request: the user of a route with AuthUser. On
// other routes it is nobody, who has an origin all the same.
func (a *API) actor(r *http.Request) access.Subject {
	if s, ok := r.Context().Value(subjectKey).(access.Subject); ok {
		return s
	}
	return access.Subject{Origin: a.origin(r)}
}

// origin gives where the request came from.
func (a *API) origin(r *http.Request) access.Origin {
	if o, ok := access.OriginOf(r.Context()); ok {
		return o
	}
	return access.Origin{IP: a.Clients.IP(r), UserAgent: r.UserAgent()}
}

// authenticate does what a route's Auth wants, then counts the request
// against the limit of its user or address.
func (a *API) authenticate(route Route, w http.ResponseWriter, r *http.Request) (*http.Request, error) {
	if route.Auth == AuthAgent || route.Auth == AuthSelf {
		return r, nil
	}
	ip := a.origin(r).IP.String()
	if route.Auth == AuthPublic {
		return r, a.limits.take("ip " + ip)
	}
	secret, cookie := client.TokenOf(r)
	if cookie {
		if err := a.sameSite(r); err != nil {
			return r, err
		}
	}
	subject, err := a.Identity.Authenticate(r.Context(), secret, a.origin(r))
	if err != nil {
		if limited := a.limits.take("ip " + ip); limited != nil {
			return r, limited
		}
		if cookie && coder.Is(err, coder.CodeUnauthenticated) {
			a.setSession(w, "")
		}
		return r, err
	}
	if r.Header.Get(bypassHeader) == "true" {
		if !subject.IsOwner() {
			return r, &statusError{http.StatusPreconditionRequired, coder.Errorf(coder.CodePrecondition, "Only owners may bypass the rate limit")}
		}
	} else if err := a.limits.take("user " + subject.UserID.String()); err != nil {
		return r, err
	}
	return r.WithContext(context.WithValue(r.Context(), subjectKey, subject)), nil
}

// longRequest is when a request counts as one that stays open.
const longRequest = 5 * time.Second

// hold has what stays open for a user end when the user loses rights: a
// WebSocket at once, an answer that flows on from when it has lasted a while.
// The caller calls end after the handler.
func (a *API) hold(r *http.Request) (held *http.Request, end func()) {
	actor, ok := r.Context().Value(subjectKey).(access.Subject)
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

// sameSite refuses what a page of another site made a browser send.
func (a *API) sameSite(r *http.Request) error {
	if err := a.origins.Check(r); err != nil {
		return coder.Errorf(coder.CodeForbidden, "This request came from a page of another site").WithCause(err)
	}
	return nil
}

// setSession puts the session into a cookie, or takes it out again.
func (a *API) setSession(w http.ResponseWriter, token string) {
	c := &http.Cookie{
		Name: client.SessionCookie, Value: token, Path: "/", HttpOnly: true,
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
