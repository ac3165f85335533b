// Package appproxy is the edge that browsers reach apps and ports of workspaces
// by: host names below the wildcard, and paths like /@owner/workspace/apps/slug
// on the dashboard's own host. It finds out who asks and where the address
// leads, has package app decide, and passes the request on through the server's
// tunnel to the agent.
//
// What an app may do to its visitor is bounded here. Nothing of ours goes to an
// app: not the session's cookie, nor its header, nor a token in the query or
// the referrer. Each host name has cookies of its own, which are good there
// alone. A page of one owner's app can make a browser send requests to another
// owner's, or to the dashboard, but they are refused (see ours). Cookies that
// apps set stay with the app. The headers that tell an app about its client are
// written here and nowhere else. (NET-06..10)
package appproxy

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/app"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
)

// Config is what a Proxy needs.
type Config struct {
	Log *slog.Logger
	// Door says who may open what.
	Door Door
	// Use counts a request, as app.Service does.
	Use func(user uuid.UUID, m app.Method, t *app.Target) (end func())
	// Connections keeps the record of visits; nil: there is none.
	Connections *connection.Service
	// AccessURL is where this process stands: path apps are on its host, and all
	// apps have its scheme and port.
	AccessURL *url.URL
	// Dashboard is where people sign in, if that is another server; nil: AccessURL.
	Dashboard *url.URL
	// Hosts are the host names of apps; without any there are path apps only.
	Hosts app.Hosts
	// NoPaths offers no path apps.
	NoPaths bool
	// SecureCookies marks cookies for HTTPS only even if AccessURL is not HTTPS.
	SecureCookies bool
	// Dial opens a stream of a kind of package tunnel to an agent.
	Dial func(ctx context.Context, agent uuid.UUID, kind, arg string) (net.Conn, error)
	// ClientIP is the address of a request's client.
	ClientIP func(*http.Request) netip.Addr
}

// Proxy serves apps. It is safe for concurrent use.
type Proxy struct {
	c       Config
	secure  bool // cookies are for HTTPS alone
	forward httputil.ReverseProxy
	load    load
}

// New gives a proxy. It starts nothing.
func New(c Config) *Proxy {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Dashboard == nil {
		c.Dashboard = c.AccessURL
	}
	p := &Proxy{c: c, secure: c.SecureCookies || c.AccessURL.Scheme == "https"}
	p.load.running = map[uuid.UUID]int{}
	p.forward = httputil.ReverseProxy{
		Rewrite: p.rewrite, ModifyResponse: p.modify, ErrorHandler: p.broken,
		Transport: newTransport(c.Dial), BufferPool: &buffers{}, ErrorLog: slog.NewLogLogger(c.Log.Handler(), slog.LevelDebug),
	}
	return p
}

// visit is a request to an app.
type visit struct {
	method app.Method
	name   app.Name
	in     *http.Request
	host   string // that sessions are for, without port; of a path app, this process's own
	base   string // of a path app: the escaped path up to the slug
	rest   string // the escaped path as the app sees it
	// target, user and the key of the user's session are set once the visit is
	// allowed.
	target *app.Target
	user   uuid.UUID
	key    string
	// known says that a pass did so; otherwise pass is one that a browser should
	// get, and carried says that it should.
	known, carried bool
	pass           string
	// friend says that the origin of the page that asks may read the answer.
	friend bool
}

type visitKey struct{}

// away says that people sign in elsewhere, so that path apps have no session of
// the dashboard's.
func (p *Proxy) away() bool { return p.c.Dashboard != p.c.AccessURL }

func visitOf(ctx context.Context) *visit { return ctx.Value(visitKey{}).(*visit) }

// Wrap serves requests to apps, and hands all others to next. A host below the
// wildcard is never next's, or else a page there could use the dashboard's API
// as its own.
func (p *Proxy) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := p.visit(r)
		if v == nil && err == nil {
			next.ServeHTTP(w, r)
			return
		}
		if err == nil {
			r = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
			v.in = r
			err = p.serve(w, r, v)
		}
		if err != nil {
			p.fail(w, r, v, err)
		}
	})
}

// visit reads the address of a request; nil when it is not one of an app.
func (p *Proxy) visit(r *http.Request) (*visit, error) {
	if app.HostName(r.Host) != app.HostName(p.c.AccessURL.Host) {
		if n, under, err := p.c.Hosts.Parse(r.Host); under {
			return &visit{method: app.MethodSubdomain, name: n, host: app.HostName(r.Host), rest: r.URL.EscapedPath()}, err
		}
	}
	if !strings.HasPrefix(r.URL.Path, "/@") {
		return nil, nil
	}
	n, ok := app.ParsePath(r.URL.EscapedPath())
	if !ok {
		return nil, nil
	}
	v := &visit{method: app.MethodPath, name: n.Name, host: app.HostName(p.c.AccessURL.Host), base: n.Base, rest: n.Rest}
	if p.c.NoPaths {
		return v, coder.Errorf(coder.CodeNotFound, "Apps on this host itself are switched off").
			WithDetail("the server runs with --disable-path-apps; give the app subdomain = true in its template")
	}
	return v, nil
}

// serve answers a visit, or says why not.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, v *visit) error {
	if r.Method == http.MethodConnect || v.rest != "" && v.rest[0] != '/' {
		return coder.Errorf(coder.CodeInvalid, "Apps do not take such requests")
	}
	if done := p.landing(w, r, v); done {
		return nil
	}
	v.friend = p.ours(r.Header.Get("Origin"), v)
	if preflight(r) {
		if done, err := p.preflight(w, r, v); done || err != nil {
			return err
		}
	}
	if err := p.admit(w, r, v); err != nil || v.target == nil {
		return err
	}
	if err := p.ready(w, r, v); err != nil || v.target == nil {
		return err
	}
	leave, err := p.load.enter(v.target.AgentID)
	if err != nil {
		return err
	}
	defer leave()
	defer p.c.Use(v.user, v.method, v.target)()
	// An app may answer before it has all of a request. Where the length is
	// known, that is safe: after a malformed body of chunks, or one that was not
	// asked for, net/http would then take what follows for another request.
	if r.ProtoMajor == 1 && r.ContentLength > 0 && r.Header.Get("Expect") == "" {
		_ = http.NewResponseController(w).EnableFullDuplex() // without it the answer waits
	}
	held, end := p.held(r, v)
	defer end()
	p.forward.ServeHTTP(w, held)
	return nil
}

// maxRequests is how many requests and WebSockets to one agent there may be at
// once.
const maxRequests = 1024

// load counts the requests that run.
type load struct {
	mu      sync.Mutex
	running map[uuid.UUID]int
}

func (l *load) enter(agent uuid.UUID) (leave func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running[agent] >= maxRequests {
		return nil, coder.Errorf(coder.CodeUnavailable, "Too many requests to this workspace are open at once; try again in a moment")
	}
	l.running[agent]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.running[agent]--; l.running[agent] == 0 {
			delete(l.running, agent)
		}
	}, nil
}

// buffers are for copying bodies.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if v, ok := b.pool.Get().(*[]byte); ok {
		return *v
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(v []byte) { b.pool.Put(&v) }
