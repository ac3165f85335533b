// Package mcpapi serves the Model Context Protocol at
// /api/experimental/mcp/http, over streamable HTTP.
//
// A request carries a token like any request of the API: as bearer token, such
// as one that an OAuth2 client obtained, or in the header Coder-Session-Token. A
// request without a valid token is answered 401 with the address at which
// clients find out how to obtain one (RFC 9728). The server keeps no sessions,
// so that each request can reach another replica.
//
// Tools call the REST API with the caller's token. These requests stay in the
// process: they go through memory to the same handler that serves the network,
// with the caller's address and user agent, so that permissions, rate limits
// and the audit log are those of the API.
package mcpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/tools"
)

// Pattern is where the handler is mounted.
const Pattern = "/api/experimental/mcp/http"

// bypassHeader asks the API to skip the rate limit, which only owners may.
const bypassHeader = "X-Coder-Bypass-Ratelimit"

// maxBody is the maximum size of a request in bytes.
const maxBody = 4 << 20

// Config describes the handler.
type Config struct {
	AccessURL *url.URL
	Version   string
	Log       *slog.Logger
}

// Server serves MCP. It is safe for concurrent use.
type Server struct {
	c       Config
	loop    *loopback
	handler http.Handler
	origins *http.CrossOriginProtection
}

// New returns a server. It serves once Start has been called.
func New(c Config) *Server {
	s := &Server{c: c, loop: newLoopback(c.Log), origins: http.NewCrossOriginProtection()}
	if err := s.origins.AddTrustedOrigin(c.AccessURL.Scheme + "://" + c.AccessURL.Host); err != nil {
		c.Log.Warn("access URL is not a valid origin; session cookies are accepted from the server's own host only", "error", err)
	}
	s.handler = mcp.NewStreamableHTTPHandler(s.serverFor, &mcp.StreamableHTTPOptions{
		Stateless: true, MaxRequestBodyBytes: maxBody,
		// Requests with a cookie are checked in ServeHTTP, and others carry a token. A
		// proxy on the same machine forwards the host that its clients use.
		DisableLocalhostProtection: true,
	})
	return s
}

// Use sets the handler of the API, before Start.
func (s *Server) Use(api http.Handler) { s.loop.server.Handler = api }

// Start begins to serve the requests of tools.
func (s *Server) Start(context.Context) error {
	s.loop.start()
	return nil
}

// Stop ends the requests of tools.
func (s *Server) Stop(ctx context.Context) error { return s.loop.stop(ctx) }

type clientKey struct{}

// ServeHTTP authenticates a request and serves it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	client, err := s.client(r)
	if err == nil {
		_, err = client.User(r.Context(), "me")
	}
	switch codersdk.CodeOf(err) {
	case "":
		s.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), clientKey{}, client)))
	case codersdk.CodeUnauthenticated:
		metadata := s.c.AccessURL.JoinPath("/.well-known/oauth-protected-resource", Pattern)
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+metadata.String()+`"`)
		s.fail(w, http.StatusUnauthorized, err)
	case codersdk.CodeForbidden:
		s.fail(w, http.StatusForbidden, err)
	case codersdk.CodeRateLimited:
		s.fail(w, http.StatusTooManyRequests, err)
	case codersdk.CodePrecondition:
		s.fail(w, http.StatusPreconditionRequired, err)
	default:
		s.c.Log.WarnContext(r.Context(), "an MCP request failed", "error", err)
		s.fail(w, http.StatusServiceUnavailable, codersdk.Errorf(codersdk.CodeUnavailable, "The server cannot check the token now; try again"))
	}
}

// fail replies with the error body of the API.
func (s *Server) fail(w http.ResponseWriter, status int, err error) {
	_ = rest.Reply(w, status, codersdk.Response{Message: rest.UserMessage(err)}) // the client may be gone
}

// client returns a client of the API with the token of a request.
func (s *Server) client(r *http.Request) (*codersdk.Client, error) {
	token, cookie := codersdk.TokenOf(r)
	if token == "" {
		return nil, codersdk.Errorf(codersdk.CodeUnauthenticated, "The request has no token; send one as 'Authorization: Bearer <token>'")
	}
	if cookie {
		if err := s.origins.Check(r); err != nil {
			return nil, codersdk.Errorf(codersdk.CodeForbidden, "The request was sent by a page of another site, which is not allowed").WithCause(err)
		}
	}
	origin, _ := access.OriginOf(r.Context())
	c := codersdk.New(&url.URL{Scheme: "http", Host: s.c.AccessURL.Host})
	c.SessionToken = token
	c.Header = http.Header{"User-Agent": {r.UserAgent()}}
	if v := r.Header.Get(bypassHeader); v != "" {
		c.Header.Set(bypassHeader, v)
	}
	c.HTTP = s.loop.client(origin.IP)
	return c, nil
}

// serverFor returns the tools for the caller of a request.
func (s *Server) serverFor(r *http.Request) *mcp.Server {
	client, ok := r.Context().Value(clientKey{}).(*codersdk.Client)
	if !ok {
		return nil
	}
	return toolkit.NewServer(toolkit.Options{
		Name: "coder", Title: "Coder", Version: s.c.Version, Instructions: tools.Instructions, Log: s.c.Log,
	}, tools.All(), &tools.Caller{Client: client, AccessURL: s.c.AccessURL, Log: s.c.Log, NoDirect: "the tunnel ends in the server"})
}
