// Package wsproxy runs a workspace proxy. A proxy is near some of a
// deployment's users and serves them apps, ports and terminals of workspaces
// with the same code as the server. It has no database and no dashboard.
//
// The proxy asks its server, the primary, who may open what, and authenticates
// with a token that an owner created for it. It verifies signed app tokens with
// the keys that the primary provides. It reaches agents through its own
// tunnels: directly where possible, otherwise through the primary's relay.
//
// It registers every half minute and deregisters when it stops. While the
// primary is unreachable, open connections stay open and signed app tokens
// remain valid until they expire, but nothing new is allowed. (WP-02)
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

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/appproxy"
	"github.com/seed-2a7f8fe7/coder/internal/clock"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
	"github.com/seed-2a7f8fe7/coder/internal/wsproxy/relayserver"
)

// Config holds the settings of a proxy.
type Config struct {
	Version string
	Log     *slog.Logger // required
	// Primary is the access URL of the server, and Token the proxy's token.
	Primary *url.URL
	Token   string

	// AccessURL is the proxy's address for browsers and the primary; nil means
	// the address of the first listener. Apps have host names below
	// WildcardAccessURL; "" disables them.
	AccessURL         *url.URL
	WildcardAccessURL string
	HTTPAddress       string // "" disables plain HTTP
	TLS               listen.TLS

	// RelayOnly disables apps and terminals.
	RelayOnly bool
	// NoPaths disables path apps on the host of AccessURL.
	NoPaths       bool
	SecureCookies bool
	// DisableDirect makes tunnels use the primary's relay only.
	DisableDirect       bool
	ProxyTrustedHeaders []string
	ProxyTrustedOrigins []string

	StrictTransportSecurity int // seconds; 0 sends no header
	StrictTransportOptions  []string

	PrometheusEnable  bool
	PrometheusAddress string
	PprofEnable       bool
	PprofAddress      string

	// Interval is the interval of registrations; 0 means 30 seconds.
	Interval time.Duration
}

// check refuses invalid or contradictory settings before anything starts.
func (c *Config) check() error {
	switch {
	case c.Log == nil:
		return codersdk.Errorf(codersdk.CodeInternal, "wsproxy: Log is required")
	case c.Primary == nil || c.Primary.Scheme != "http" && c.Primary.Scheme != "https" || c.Primary.Host == "":
		return codersdk.Errorf(codersdk.CodeInvalid, "the server's address is missing; set --primary-access-url, for example https://coder.example.com")
	case c.Token == "":
		return codersdk.Errorf(codersdk.CodeInvalid,
			"the proxy's token is missing; set CODER_PROXY_SESSION_TOKEN to the token that coder wsproxy create --name NAME printed")
	case c.AccessURL != nil && (c.AccessURL.Scheme != "http" && c.AccessURL.Scheme != "https" || c.AccessURL.Host == ""):
		return codersdk.Errorf(codersdk.CodeInvalid, "--access-url must be an address such as https://sydney.coder.example.com, got %q", c.AccessURL)
	}
	if err := c.TLS.Check(c.HTTPAddress); err != nil {
		return err
	}
	return listen.Addresses(c.PrometheusAddress, c.PprofAddress)
}

// Proxy is one process of a workspace proxy. Start and Stop are called once
// each.
type Proxy struct {
	c         Config
	log       *slog.Logger
	client    *codersdk.Client
	clock     clock.Clock // of the primary
	registry  *prometheus.Registry
	replica   uuid.UUID
	hostname  string
	accessURL *url.URL
	hosts     workspaceapp.Hosts
	clients   listen.Clients

	apps    *workspaceapp.Away
	tunnels tunnel.Pool
	relay   *relayserver.Server
	state   state
	group   lifecycle.Group

	failed   chan error
	failOnce sync.Once
}

// New checks the configuration and returns a proxy. It starts nothing.
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
		c: c, log: c.Log, client: codersdk.NewProxy(c.Primary, c.Token), registry: telemetry.NewRegistry(), replica: uuid.New(),
		clients: clients, failed: make(chan error, 1),
	}
	p.apps = workspaceapp.NewAway(p.clock.Now)
	p.hostname, _ = os.Hostname() // the host name is informational
	t, err := c.TLS.Transport()
	if err != nil {
		return nil, err
	}
	t.MaxIdleConnsPerHost = 64 // all requests go to the primary
	p.client.HTTP = p.clock.Client(&http.Client{Transport: t})
	p.tunnels.Dial = p.dial
	p.relay = relayserver.New(p.log.With(telemetry.NameKey, "relay"), p.registry, p.clock.Now)
	return p, nil
}

// Start listens on the configured addresses, then registers with the primary,
// retrying while it is unreachable. After an error nothing runs.
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
	if p.hosts, err = workspaceapp.ParseHosts(p.c.WildcardAccessURL, p.accessURL); err != nil {
		return errors.Join(err, ln.Close())
	}
	ln.Handler = p.handler()
	services := []lifecycle.Named{{Name: "tunnels", Service: pool{&p.tunnels}}, {Name: "relay", Service: p.relay}}
	if p.c.PrometheusEnable {
		services = append(services, lifecycle.Named{
			Name:    "metrics",
			Service: &telemetry.Listener{Address: p.c.PrometheusAddress, Handler: telemetry.Metrics(p.registry)},
		})
	}
	if p.c.PprofEnable {
		services = append(services, lifecycle.Named{
			Name:    "profiles",
			Service: &telemetry.Listener{Address: p.c.PprofAddress, Handler: telemetry.Profiles()},
		})
	}
	services = append(services,
		lifecycle.Named{Name: "listeners", Service: ln},
		lifecycle.Named{Name: "app usage", Service: &usage{p: p}},
		lifecycle.Named{Name: "registration", Service: &registration{p: p}},
	)
	if err := p.group.Start(ctx, services...); err != nil {
		_ = ln.Close() // already closed, unless an earlier service failed
		return err
	}
	p.log.Info("workspace proxy is ready",
		"access_url", p.accessURL.String(), "wildcard", p.hosts.String(), "url", ln.URL(), "primary", p.c.Primary.String(), "version", p.c.Version)
	return nil
}

// pool adapts the tunnels to lifecycle.Service.
type pool struct{ *tunnel.Pool }

func (pool) Start(context.Context) error { return nil }

func (t pool) Stop(context.Context) error {
	t.Close()
	return nil
}

func (p *Proxy) fail(err error) { p.failOnce.Do(func() { p.failed <- err }) }

// Failed delivers the error after which the proxy cannot continue.
func (p *Proxy) Failed() <-chan error { return p.failed }

// AccessURL returns the address of the proxy for users. It is set once Start
// returned.
func (p *Proxy) AccessURL() *url.URL { return p.accessURL }

// Stop deregisters from the primary and stops everything.
func (p *Proxy) Stop(ctx context.Context) error { return p.group.Stop(ctx) }

// dial opens a tunnel to an agent. An agent that is not connected is waited for
// at most tunnel.Patience, the time that a starting agent takes to connect.
func (p *Proxy) dial(ctx context.Context, to tunnel.Target) (*tunnel.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := tunnel.Options{Log: p.log, Outage: tunnel.ServerOutage, Waiting: sync.OnceFunc(func() { time.AfterFunc(tunnel.Patience, cancel) })}
	if p.c.DisableDirect {
		o.NoDirect = "the proxy runs with --block-direct-connections"
	}
	conn, err := tunnel.DialAgent(ctx, p.client, to.AgentID, o)
	if err == nil || codersdk.CodeOf(err) == codersdk.CodeUnavailable {
		return conn, err
	}
	return nil, codersdk.Errorf(codersdk.CodeUnavailable, "The proxy could not reach the agent").WithDetail("%s", reason(err)).WithCause(err)
}

// withApps serves apps and passes other requests to next.
func (p *Proxy) withApps(next http.Handler) http.Handler {
	return appproxy.New(appproxy.Config{
		Log:           p.log.With(telemetry.NameKey, "appproxy"),
		Authorizer:    authorizer{p},
		Use:           p.apps.Use,
		AccessURL:     p.accessURL,
		Dashboard:     p.c.Primary,
		Hosts:         p.hosts,
		NoPaths:       p.c.NoPaths,
		SecureCookies: p.c.SecureCookies,
		Dial:          p.openStream,
		ClientIP:      p.clients.IP,
	}).Wrap(next)
}
