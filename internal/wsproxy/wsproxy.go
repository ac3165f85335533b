// Package wsproxy is the process of a workspace proxy: it stands near some of a
// deployment's people and serves them apps, ports and terminals of workspaces,
// by the same code as the server. It has no database and no dashboard. Who may
// open what, it asks its server, the primary, with the token that an owner made
// for it; it reads passes by the keys that the primary gives it; and it reaches
// agents by tunnels of its own, directly where that is possible, or else through
// the primary's relay.
//
// It says every half minute where it stands, and good-bye when it stops. While
// the primary is away, what is open stays open and passes count until their end;
// nothing new is let in. (WP-02)
package wsproxy

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/app"
	"github.com/seed-2a7f8fe7/coder/internal/appproxy"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// Config is what a proxy is told.
type Config struct {
	Version string
	Log     *slog.Logger // required
	// Primary is the access URL of the server, and Token the proxy's own.
	Primary *url.URL
	Token   string

	// AccessURL is the proxy as browsers and the primary know it; nil: the first
	// listener's address. Apps have host names below WildcardAccessURL; "" for none.
	AccessURL         *url.URL
	WildcardAccessURL string
	HTTPAddress       string // "" turns plain HTTP off
	TLS               listen.TLS

	// RelayOnly serves no apps and no terminals.
	RelayOnly bool
	// NoPaths offers no apps on the host of AccessURL itself.
	NoPaths       bool
	SecureCookies bool
	// DisableDirect has tunnels go through the primary's relay only.
	DisableDirect       bool
	ProxyTrustedHeaders []string
	ProxyTrustedOrigins []string

	StrictTransportSecurity int // seconds; 0 sends no header
	StrictTransportOptions  []string

	PrometheusEnable  bool
	PrometheusAddress string
	PprofEnable       bool
	PprofAddress      string

	// Interval is how often the proxy says where it stands; 0 means half a minute.
	Interval time.Duration
}

// check refuses what contradicts itself, before anything is started.
func (c *Config) check() error {
	switch {
	case c.Log == nil:
		return coder.Errorf(coder.CodeInternal, "wsproxy: Log is required")
	case c.Primary == nil || c.Primary.Scheme != "http" && c.Primary.Scheme != "https" || c.Primary.Host == "":
		return coder.Errorf(coder.CodeInvalid, "say which server this is a proxy of: --primary-access-url https://coder.example.com")
	case c.Token == "":
		return coder.Errorf(coder.CodeInvalid, "give the proxy its token in CODER_PROXY_SESSION_TOKEN; an owner makes one with coder wsproxy create --name NAME")
	case c.AccessURL != nil && (c.AccessURL.Scheme != "http" && c.AccessURL.Scheme != "https" || c.AccessURL.Host == ""):
		return coder.Errorf(coder.CodeInvalid, "--access-url must be like https://sydney.coder.example.com, got %q", c.AccessURL)
	}
	if err := c.TLS.Check(c.HTTPAddress); err != nil {
		return err
	}
	return listen.Addresses(c.PrometheusAddress, c.PprofAddress)
}

// Proxy is a process of a workspace proxy. Start and Stop are called once each.
type Proxy struct {
	c         Config
	log       *slog.Logger
	client    *client.Client
	registry  *prometheus.Registry
	replica   uuid.UUID
	hostname  string
	accessURL *url.URL
	hosts     app.Hosts
	clients   listen.Clients

	apps    *app.Away
	tunnels tunnel.Pool
	state   state
	group   lifecycle.Group

	failed   chan error
	failOnce sync.Once
}

// New checks the configuration. It starts nothing.
func New(c Config) (*Proxy, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.Interval <= 0 {
		c.Interval = 30 * time.Second
	}
	clients, err := listen.NewClients(c.ProxyTrustedHeaders, c.ProxyTrustedOrigins)
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		c: c, log: c.Log, client: client.NewProxy(c.Primary, c.Token), registry: telemetry.NewRegistry(), replica: uuid.New(),
		clients: clients, apps: app.NewAway(time.Now), failed: make(chan error, 1),
	}
	p.hostname, _ = os.Hostname() // nameless is no reason not to serve
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64 // all go to the primary
	p.client.HTTP = &http.Client{Transport: t}
	p.tunnels.Dial = p.dial
	return p, nil
}

// Start takes the addresses and begins to answer, and then has the primary know
// of the proxy, however long it takes the primary to come. An error, after which
// nothing runs, says that it will not.
func (p *Proxy) Start(ctx context.Context) error {
	ln, err := listen.Open(p.c.HTTPAddress, p.c.TLS, p.log)
	if err != nil {
		return err
	}
	p.accessURL = p.c.AccessURL
	if p.accessURL == nil {
		if p.accessURL, err = url.Parse(ln.URL()); err != nil {
			return errors.Join(err, ln.Close())
		}
	}
	if p.hosts, err = app.ParseHosts(p.c.WildcardAccessURL, p.accessURL); err != nil {
		return errors.Join(err, ln.Close())
	}
	ln.Handler = p.handler()
	services := []lifecycle.Named{{Name: "tunnels", Service: pool{&p.tunnels}}}
	if p.c.PrometheusEnable {
		services = append(services, lifecycle.Named{Name: "metrics", Service: &telemetry.Listener{Address: p.c.PrometheusAddress, Handler: telemetry.Metrics(p.registry)}})
	}
	if p.c.PprofEnable {
		services = append(services, lifecycle.Named{Name: "profiles", Service: &telemetry.Listener{Address: p.c.PprofAddress, Handler: telemetry.Profiles()}})
	}
	services = append(services,
		lifecycle.Named{Name: "listeners", Service: ln},
		lifecycle.Named{Name: "use of apps", Service: &usage{p: p}},
		lifecycle.Named{Name: "registration", Service: &registration{p: p}},
	)
	if err := p.group.Start(ctx, services...); err != nil {
		_ = ln.Close() // which it is already, unless something before it failed
		return err
	}
	p.log.Info("the workspace proxy is ready", "access_url", p.accessURL.String(), "wildcard", p.hosts.String(), "url", ln.URL(), "primary", p.c.Primary.String(), "version", p.c.Version)
	return nil
}

// pool is the tunnels as a service.
type pool struct{ *tunnel.Pool }

func (pool) Start(context.Context) error { return nil }

func (t pool) Stop(context.Context) error {
	t.Close()
	return nil
}

func (p *Proxy) fail(err error) { p.failOnce.Do(func() { p.failed <- err }) }

// Failed delivers why the proxy cannot go on, should that happen.
func (p *Proxy) Failed() <-chan error { return p.failed }

// AccessURL is the proxy as people know it; set once Start returned.
func (p *Proxy) AccessURL() *url.URL { return p.accessURL }

// Stop says good-bye to the primary and ends everything.
func (p *Proxy) Stop(ctx context.Context) error { return p.group.Stop(ctx) }

// dial makes a tunnel to an agent. One that is not connected is waited for only
// as long as one takes that has just come.
func (p *Proxy) dial(ctx context.Context, to tunnel.Target) (*tunnel.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := tunnel.Options{Log: p.log, Waiting: sync.OnceFunc(func() { time.AfterFunc(tunnel.Patience, cancel) })}
	if p.c.DisableDirect {
		o.NoDirect = "the proxy runs with --block-direct-connections"
	}
	conn, err := tunnel.DialAgent(ctx, p.client, to.AgentID, o)
	if err == nil || coder.CodeOf(err) == coder.CodeUnavailable {
		return conn, err
	}
	return nil, coder.Errorf(coder.CodeUnavailable, "The proxy cannot reach the agent").WithDetail("%s", reason(err)).WithCause(err)
}

// withApps serves apps, and hands other requests to next.
func (p *Proxy) withApps(next http.Handler) http.Handler {
	return appproxy.New(appproxy.Config{
		Log: p.log.With(telemetry.NameKey, "appproxy"), Door: door{p}, Use: p.apps.Use, AccessURL: p.accessURL, Dashboard: p.c.Primary, Hosts: p.hosts,
		NoPaths: p.c.NoPaths, SecureCookies: p.c.SecureCookies, Dial: p.open, ClientIP: p.clients.IP,
	}).Wrap(next)
}
