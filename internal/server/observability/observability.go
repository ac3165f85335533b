// Package observability groups what the server reports about itself: metrics,
// profiles, health, insights, its settings and its recent log.
package observability

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
	"github.com/seed-2a7f8fe7/coder/internal/health"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/supportapi"
	"github.com/seed-2a7f8fe7/coder/internal/insight"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/metrics"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
	"github.com/seed-2a7f8fe7/coder/internal/updatecheck"
)

// Config describes what is reported.
type Config struct {
	PrometheusEnable  bool
	PrometheusAddress string
	MetricsInterval   time.Duration // between refreshes of metrics that are read from the database; 0: 30 s, of agents 1 min
	AgentStats        bool          // adds the metrics that agents report
	AgentStatsBy      []string      // labels of those
	PprofEnable       bool
	PprofAddress      string
	RecentLogs        *telemetry.Recent // the newest log lines, for administrators; nil: none
	Traces            base.Traces

	HealthRefresh   time.Duration // how long a health report is valid, 10 minutes
	HealthThreshold time.Duration // in which the database should answer, 15 ms
	Relay           Relay

	Settings       codersdk.DeploymentConfig // the server's options, as the API shows them
	DocsURL        *url.URL                  // of the documentation that pages link to
	SupportLinks   []codersdk.LinkConfig
	UpgradeMessage string   // for clients of another version
	Experiments    []string // see KnownExperiments

	UpdateCheck    bool     // ask for a newer version
	UpdateCheckURL *url.URL // whom to ask
}

// Relay describes the server's relay in health reports. The zero values mean
// 999, "coder" and "Coder Embedded Relay".
type Relay struct {
	ID   int
	Code string
	Name string
}

// Check refuses what no feature stands behind.
func (c Config) Check() error {
	if err := listen.Addresses(c.PrometheusAddress, c.PprofAddress); err != nil {
		return err
	}
	for _, l := range c.SupportLinks {
		if err := codersdk.CheckLink("target", l.Target); err != nil {
			return codersdk.Errorf(codersdk.CodeInvalid, "--support-links: the link %.80q: %s", l.Name, err)
		}
	}
	if c.Relay.ID < 0 {
		return codersdk.Errorf(codersdk.CodeInvalid, "--derp-server-region-id cannot be negative")
	}
	if c.UpdateCheck && (c.UpdateCheckURL == nil || c.UpdateCheckURL.Host == "") {
		return codersdk.Errorf(codersdk.CodeInvalid, "--update-check requires --update-check-url, the URL that answers with the newest release")
	}
	_, err := c.EnabledExperiments()
	return err
}

// OAuth2Experiment is the experiment that turns the OAuth2 provider on.
const OAuth2Experiment = "oauth2"

// KnownExperiments are the experiments that can be named. The features of all but
// OAuth2Experiment are always on.
func KnownExperiments() []string {
	return []string{"auto-fill-parameters", "mcp-server-http", OAuth2Experiment, "workspace-sharing", "workspace-usage"}
}

// EnabledExperiments returns the experiments of the configuration, each once, and
// all known ones but OAuth2Experiment for "*".
func (c Config) EnabledExperiments() ([]string, error) {
	enabled := []string{}
	for _, e := range c.Experiments {
		switch {
		case e == "*":
			for _, known := range KnownExperiments() {
				if known != OAuth2Experiment && !slices.Contains(enabled, known) {
					enabled = append(enabled, known)
				}
			}
		case !slices.Contains(KnownExperiments(), e):
			return nil, codersdk.Errorf(codersdk.CodeInvalid, "--experiments: unknown experiment %q; remove it, or choose from %s",
				e, strings.Join(KnownExperiments(), ", "))
		case !slices.Contains(enabled, e):
			enabled = append(enabled, e)
		}
	}
	slices.Sort(enabled)
	return enabled, nil
}

// Secrets returns the secrets of the configuration, for redaction.
func (c Config) Secrets() []string { return []string{c.Traces.HoneycombKey} }

// AgentMetrics returns which metrics of agents are kept, nil for none.
func (c Config) AgentMetrics() *presence.Observation {
	if !c.PrometheusEnable {
		return nil
	}
	return &presence.Observation{Stats: c.AgentStats, By: c.AgentStatsBy, Every: c.MetricsInterval}
}

// Group is the use cases about the deployment as a whole.
type Group struct {
	Site     *deployment.Service
	Health   *health.Service
	Insights *insight.Service
	Updates  *updatecheck.Checker // nil without --update-check
	Support  *supportapi.API      // created by CreateSupport
	base     *base.Base
	c        Config
	from     Sources
	listener []metrics.Certificate // of the TLS listener
}

// Sources are what health reports and metrics need of other groups.
type Sources struct {
	STUN         []string // host:port
	Proxies      func(ctx context.Context) ([]codersdk.WorkspaceProxy, error)
	Provisioners func(ctx context.Context, organization uuid.UUID) ([]codersdk.ProvisionerDaemon, error)
	Unencrypted  bool // secrets in the database are in clear
	ExternalAuth func(ctx context.Context) []codersdk.ExternalAuthHealth
	// Notifications describes the queue of notifications.
	Notifications health.QueueStatus
	Directories   map[string]string // whose free space is exported, by their names in metrics
	CertFiles     []string          // of the TLS listener
}

// New creates the group. It reads the certificates of the TLS listener.
func New(b *base.Base, c Config, from Sources) (*Group, error) {
	listener, err := readCertificates(from.CertFiles)
	if err != nil {
		return nil, err
	}
	docs := ""
	if c.DocsURL != nil {
		docs = c.DocsURL.String()
	}
	probe := prober{b}
	g := &Group{
		base: b, c: c, from: from, listener: listener,
		Site: deployment.New(deployment.Config{
			Store: b.Store, Settings: c.Settings, DocsURL: docs, SupportLinks: c.SupportLinks, UpgradeMessage: c.UpgradeMessage, ReplicaID: b.Replica,
			Now: b.Now,
		}),
		Insights: insight.New(insight.Config{Store: b.Store, Now: b.Now}),
		Health: health.New(health.Config{
			Store: b.Store, AccessURL: b.AccessURL, Version: b.Version, ReplicaID: b.Replica, Refresh: c.HealthRefresh, Threshold: c.HealthThreshold,
			STUN: from.STUN, Fetch: probe.page, Echo: probe.socket, Relay: health.Relay(c.Relay),
			Proxies: from.Proxies, Provisioners: from.Provisioners, Unencrypted: from.Unencrypted, Now: b.Now, ExternalAuth: from.ExternalAuth,
			Notifications: from.Notifications,
		}),
	}
	if c.UpdateCheck {
		g.Updates = updatecheck.New(c.UpdateCheckURL, b.Version, nil, b.Logger("updates"))
	}
	return g, nil
}

// Services refresh and serve the metrics and profiles that are enabled.
func (g *Group) Services() (all []lifecycle.Named) {
	all = append(all, lifecycle.Named{Name: "health history", Service: &lifecycle.Loop{Run: g.Health.Watch}})
	if g.c.PrometheusEnable {
		refresh := metrics.New(metrics.Config{
			Store: g.base.Store, Log: g.base.Logger("metrics"), Registerer: g.base.Registry, Latency: g.base.Hub.Latency, Interval: g.c.MetricsInterval,
			Now: g.base.Now, Version: g.base.Version, Certificates: g.certificates, Disks: g.disks,
		})
		all = append(all,
			lifecycle.Named{Name: "metrics of the deployment", Service: refresh},
			lifecycle.Named{Name: "metrics", Service: &telemetry.Listener{Address: g.c.PrometheusAddress, Handler: telemetry.Metrics(g.base.Registry)}})
	}
	if g.c.PprofEnable {
		all = append(all, lifecycle.Named{Name: "profiles", Service: &telemetry.Listener{Address: g.c.PprofAddress, Handler: telemetry.Profiles()}})
	}
	if g.Updates != nil {
		all = append(all, lifecycle.Named{Name: "check for a newer version", Service: g.Updates})
	}
	return all
}

// CreateSupport creates what administrators read of this process, and support bundles.
// Secrets are removed from both. (SUP-01)
func (g *Group) CreateSupport(ctx context.Context, secrets []string, agents *presence.Service, agentHTTP func(presence.Agent) *http.Client) error {
	key, err := g.base.Secret(ctx, "replica-requests", 32)
	if err != nil {
		return err
	}
	c := supportapi.Config{
		Metrics: telemetry.Metrics(g.base.Registry), Profiles: telemetry.Profiles(), Secrets: secrets,
		Replica: g.base.Replica, Replicas: g.Site.Replicas, Transport: g.base.Outgoing, AccessURL: g.base.AccessURL,
		Presence: agents, AgentHTTP: agentHTTP, Now: g.base.Now,
		ReplicaKey: key,
	}
	if g.c.RecentLogs != nil {
		c.Logs = g.c.RecentLogs.Bytes
	}
	g.Support = supportapi.New(c)
	return nil
}
