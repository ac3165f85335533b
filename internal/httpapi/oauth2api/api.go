// Package oauth2api serves the endpoints of the OAuth2 provider: the management of applications below /api/v2, and
// outside of it the endpoints of the protocol below /oauth2 and /.well-known.
package oauth2api

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/ratelimit"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/oauth2provider"
)

// perMinute is the number of requests per minute of a user, or of an address without a user, to each endpoint of the
// protocol.
const perMinute = 60

// maxBody bounds the body of a request, in bytes.
const maxBody = 64 << 10

// Config holds the dependencies of the endpoints.
type Config struct {
	Provider *oauth2provider.Service
	Log      *slog.Logger
	// Authenticate returns the user of a session token.
	Authenticate func(r *http.Request, token string) (access.Subject, error)
	// AccessURL is the URL at which browsers reach the server.
	AccessURL *url.URL
	// Unlimited turns the limit on requests off.
	Unlimited bool
}

// API serves the endpoints. It is safe for concurrent use.
type API struct {
	Config
	limits  *ratelimit.Limiter
	origins *http.CrossOriginProtection // refuses what pages of other sites made a browser send
}

// New returns the endpoints.
func New(c Config) *API {
	out := &API{Config: c, limits: ratelimit.New(perMinute), origins: http.NewCrossOriginProtection()}
	if c.Unlimited {
		out.limits = ratelimit.New(-1)
	}
	if err := out.origins.AddTrustedOrigin(c.AccessURL.Scheme + "://" + c.AccessURL.Host); err != nil {
		c.Log.Warn("access URL is not a valid origin; consent is accepted from the server's own host only", "error", err)
	}
	return out
}

// endpoint is one endpoint of the protocol.
type endpoint struct {
	method, path string
	// cors lets pages of any origin call the endpoint. It never uses cookies.
	cors    bool
	handler rest.HandlerFunc
}

// Mounts returns the endpoints of the protocol by http.ServeMux pattern.
func (c *API) Mounts() map[string]http.Handler {
	out := map[string]http.Handler{}
	for _, e := range []endpoint{
		{"GET", oauth2provider.ServerPath, true, c.serverMetadata},
		{"GET", oauth2provider.ResourcePath, true, c.resourceMetadata},
		{"GET", oauth2provider.ResourcePath + "/{path...}", true, c.resourceMetadata},
		{"GET", oauth2provider.AuthorizePath, false, c.getAuthorize},
		{"POST", oauth2provider.AuthorizePath, false, c.postAuthorize},
		{"POST", oauth2provider.TokenPath, true, c.postToken},
		{"DELETE", oauth2provider.TokenPath, false, c.deleteTokens},
		{"POST", oauth2provider.RevokePath, true, c.postRevoke},
		{"POST", oauth2provider.RegisterPath, true, c.postRegister},
		{"GET", oauth2provider.ClientsPath + "/{client_id}", true, c.getClient},
		{"PUT", oauth2provider.ClientsPath + "/{client_id}", true, c.putClient},
		{"DELETE", oauth2provider.ClientsPath + "/{client_id}", true, c.deleteClient},
	} {
		out[e.method+" "+e.path] = c.serve(e)
		if e.cors {
			out["OPTIONS "+e.path] = http.HandlerFunc(preflight)
		}
	}
	return out
}

// preflight answers the question of a browser whether a page of another site can send a request.
func preflight(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, DELETE")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, MCP-Protocol-Version")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// serve limits the requests to an endpoint, and writes its failures in the form of OAuth2.
func (c *API) serve(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if e.cors {
			w.Header().Set("Access-Control-Allow-Origin", "*")
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		err := c.allow(e, r)
		if err == nil {
			err = e.handler(w, r)
		}
		if err != nil {
			c.fail(w, r, err)
		}
	})
}

// allow counts the request. An owner can bypass the limit.
func (c *API) allow(e endpoint, r *http.Request) error {
	if r.Header.Get("X-Coder-Bypass-Ratelimit") == "true" {
		if actor, err := c.session(r); err == nil && actor.IsOwner() {
			return nil
		}
	}
	key := "ip " + origin(r).IP.String()
	if !e.cors {
		if actor, err := c.session(r); err == nil {
			key = "user " + actor.UserID.String()
		}
	}
	return c.limits.Allow(e.method + " " + e.path + " " + key)
}

// origin returns the source of the request.
func origin(r *http.Request) access.Origin {
	o, _ := access.OriginOf(r.Context())
	return o
}

// sessionToken returns the session token of a request, and whether a cookie brought it. A token in the address is not
// accepted: a link could make a browser act for the account of another user.
func sessionToken(r *http.Request) (token string, cookie bool) {
	if t := r.Header.Get(codersdk.SessionTokenHeader); t != "" {
		return t, false
	}
	if k, err := r.Cookie(codersdk.SessionCookie); err == nil {
		return k.Value, true
	}
	return "", false
}

// session returns the user of the request's session.
func (c *API) session(r *http.Request) (access.Subject, error) {
	token, _ := sessionToken(r)
	if token == "" {
		return access.Subject{}, codersdk.Errorf(codersdk.CodeUnauthenticated, "You are not signed in; sign in first")
	}
	return c.Authenticate(r, token)
}

// fail writes a failure. Its cause goes to the log.
func (c *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := oauth2provider.AsFailure(err)
	status := http.StatusBadRequest
	switch f.Code {
	case oauth2provider.InvalidClient:
		status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", `Basic realm="coder"`)
	case oauth2provider.InvalidToken:
		status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	case oauth2provider.ServerError:
		status = http.StatusInternalServerError
	case oauth2provider.TemporarilyUnavailable:
		status = http.StatusServiceUnavailable
	}
	if e, ok := errors.AsType[*codersdk.Error](err); ok && e.Code != codersdk.CodeInternal {
		status = codersdk.Status(e.Code)
		if status < 500 && f.Code == oauth2provider.ServerError {
			f.Code, f.Description = oauth2provider.AccessDenied, e.Message
		}
		rest.SetRetryAfter(w, e.RetryAfter)
	}
	if status >= 500 {
		c.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "status", status, "error", err)
	}
	body := codersdk.OAuth2Error{Error: f.Code, ErrorDescription: f.Description}
	if rest.Reply(w, status, body) != nil {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// bearer returns the token of the Authorization header, "" for none.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
