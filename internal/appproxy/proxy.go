// Package appproxy serves the apps and ports of workspaces to browsers. Apps
// have host names below the wildcard, or paths like /@owner/workspace/apps/slug
// on the dashboard's own host.
//
// A request passes four steps, each a value of its own type:
//
//  1. address: which app the host and path name;
//  2. credentials: what the request carries about its user and its page;
//  3. decision: whether the user may open the app, where it is, or where to
//     redirect to instead;
//  4. forwarding: the request to the agent through the server's tunnel, and the
//     headers of the response.
//
// The package limits what an app can do to its users. An app never receives the
// session cookie, the session header, or a token in the query or the referrer.
// Each host name has its own cookies, valid there alone. Requests that a page of
// one owner's app makes to another owner's app, or to the dashboard, are refused
// (see trustedOrigin). Cookies that apps set stay with the app. The headers that
// describe the client to an app are written here only. (NET-06..10)
package appproxy

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"sync"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// Config holds the dependencies and settings of a Proxy.
type Config struct {
	Log *slog.Logger
	// Authorizer decides who may open which app.
	Authorizer Authorizer
	// Use counts a request, as workspaceapp.Service does. The caller calls end
	// when the request ends.
	Use func(user uuid.UUID, m workspaceapp.Method, t *workspaceapp.Target) (end func())
	// Connections records requests in the connection log; nil records nothing.
	Connections *connection.Service
	// AccessURL is the address of this process. Path apps are on its host, and
	// all apps have its scheme and port.
	AccessURL *url.URL
	// Dashboard is where users sign in; nil means AccessURL.
	Dashboard *url.URL
	// Hosts are the host names of apps; the zero value means path apps only.
	Hosts workspaceapp.Hosts
	// NoPaths disables path apps.
	NoPaths bool
	// SecureCookies marks cookies for HTTPS only even if AccessURL is not HTTPS.
	SecureCookies bool
	// Dial opens a stream of a kind of package tunnel to an agent.
	Dial func(ctx context.Context, agent uuid.UUID, kind, arg string) (net.Conn, error)
	// ClientIP returns the address of a request's client.
	ClientIP func(*http.Request) netip.Addr
}

// Proxy serves apps. It is safe for concurrent use.
type Proxy struct {
	c        Config
	secure   bool // cookies are for HTTPS only
	reverse  httputil.ReverseProxy
	requests requestLimiter
}

// New returns a proxy. It starts nothing.
func New(c Config) *Proxy {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Dashboard == nil {
		c.Dashboard = c.AccessURL
	}
	p := &Proxy{c: c, secure: c.SecureCookies || c.AccessURL.Scheme == "https"}
	p.requests.open = map[uuid.UUID]int{}
	p.reverse = httputil.ReverseProxy{
		Rewrite:        p.rewriteRequest,
		ModifyResponse: p.rewriteResponse,
		ErrorHandler:   p.handleForwardError,
		Transport:      newTransport(c.Dial),
		BufferPool:     &bufferPool{},
		ErrorLog:       slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	return p
}

// remoteDashboard reports whether users sign in at another server, so that path
// apps do not share the dashboard's session.
func (p *Proxy) remoteDashboard() bool { return p.c.Dashboard != p.c.AccessURL }

// Wrap returns a handler that serves requests to apps, and passes all others to
// next. A host below the wildcard never reaches next: its pages could otherwise
// call the dashboard's API as same-origin.
func (p *Proxy) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addr, isApp, err := p.parseAddress(r)
		if !isApp {
			next.ServeHTTP(w, r)
			return
		}
		var target *workspaceapp.Target
		if err == nil {
			target, err = p.serve(w, r, addr)
		}
		if err != nil {
			p.replyError(w, r, target, err)
		}
	})
}

// serve takes a request to an app through the steps. With an error it has
// written nothing but cookies; target is then the app, if it is known.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, addr address) (target *workspaceapp.Target, err error) {
	if r.Method == http.MethodConnect || addr.rest != "" && addr.rest[0] != '/' {
		return nil, codersdk.Errorf(codersdk.CodeInvalid, "Apps do not accept requests of this form")
	}
	r, code, cleaned := withoutOwnQuery(r)
	if cleaned && canRedirect(r) {
		p.finishSignIn(w, r, addr, code)
		return nil, nil
	}
	creds := p.readCredentials(r, addr)
	if isPreflight(r) {
		if replied, err := p.replyPreflight(w, r, addr, creds); replied || err != nil {
			return nil, err
		}
	}
	d, err := p.decide(r, addr, creds)
	p.setCookies(w, addr, d)
	switch {
	case err != nil:
		return d.target, err
	case d.signIn:
		return nil, p.startSignIn(w, r, addr)
	case d.redirect != "":
		redirect(w, r, d.redirect, http.StatusTemporaryRedirect)
		return nil, nil
	}
	release, err := p.requests.acquire(d.target.AgentID)
	if err != nil {
		return d.target, err
	}
	defer release()
	defer p.c.Use(d.user, addr.method, d.target)()
	p.forward(w, r, forwarding{address: addr, decision: d, origin: creds.origin, trustedPage: creds.trustedPage})
	return nil, nil
}

// forward sends the request to the app and its response to the client.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, f forwarding) {
	// An app may respond before it has read the whole request. That is safe only
	// with a known length: after a malformed chunked body, or a body that the app
	// did not ask for, net/http would read the rest as another request.
	if r.ProtoMajor == 1 && r.ContentLength > 0 && r.Header.Get("Expect") == "" {
		_ = http.NewResponseController(w).EnableFullDuplex() // on failure the response waits for the body
	}
	ctx := r.Context()
	if r.Header.Get("Upgrade") != "" {
		allowed, release := p.c.Authorizer.WatchAccess(ctx, f.session())
		defer release()
		ctx = allowed
	}
	f.in = r
	r = r.WithContext(context.WithValue(ctx, forwardingKey{}, &f))
	listen.UnboundBody(r.Context())
	p.reverse.ServeHTTP(w, r)
}

// maxRequests bounds the requests and WebSockets that are open to one agent.
const maxRequests = 1024

// requestLimiter counts the open requests of each agent.
type requestLimiter struct {
	mu   sync.Mutex
	open map[uuid.UUID]int
}

// acquire counts one request to the agent, or refuses it above maxRequests. The
// caller calls release when the request ends.
func (l *requestLimiter) acquire(agent uuid.UUID) (release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[agent] >= maxRequests {
		return nil, codersdk.Errorf(codersdk.CodeUnavailable, "Too many requests to this workspace are open; try again in a moment")
	}
	l.open[agent]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.open[agent]--; l.open[agent] == 0 {
			delete(l.open, agent)
		}
	}, nil
}

// bufferPool reuses the buffers with which bodies are copied.
type bufferPool struct{ pool sync.Pool }

func (b *bufferPool) Get() []byte {
	if v, ok := b.pool.Get().(*[]byte); ok {
		return *v
	}
	return make([]byte, 32<<10)
}

func (b *bufferPool) Put(v []byte) { b.pool.Put(&v) }
