package server

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/dbcrypt"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/provisionapi"
	"github.com/seed-2a7f8fe7/coder/internal/server/agents"
	"github.com/seed-2a7f8fe7/coder/internal/server/apps"
	"github.com/seed-2a7f8fe7/coder/internal/server/directory"
	"github.com/seed-2a7f8fe7/coder/internal/server/external"
	"github.com/seed-2a7f8fe7/coder/internal/server/gallery"
	"github.com/seed-2a7f8fe7/coder/internal/server/gitmirror"
	"github.com/seed-2a7f8fe7/coder/internal/server/insights"
	"github.com/seed-2a7f8fe7/coder/internal/server/mirror"
	"github.com/seed-2a7f8fe7/coder/internal/server/network"
	"github.com/seed-2a7f8fe7/coder/internal/server/notifications"
	"github.com/seed-2a7f8fe7/coder/internal/server/oauth2"
	"github.com/seed-2a7f8fe7/coder/internal/server/observability"
	"github.com/seed-2a7f8fe7/coder/internal/server/plans"
	"github.com/seed-2a7f8fe7/coder/internal/server/programs"
	"github.com/seed-2a7f8fe7/coder/internal/server/provisioning"
	"github.com/seed-2a7f8fe7/coder/internal/server/retention"
	"github.com/seed-2a7f8fe7/coder/internal/server/rules"
	"github.com/seed-2a7f8fe7/coder/internal/server/secrets"
	"github.com/seed-2a7f8fe7/coder/internal/server/sessions"
	"github.com/seed-2a7f8fe7/coder/internal/server/workspaces"
)

// groups are the parts of one server.
type groups struct {
	sessions      *sessions.Group
	external      *external.Group
	directory     *directory.Group
	secrets       *secrets.Group
	oauth2        *oauth2.Group
	provisioning  *provisioning.Group
	workspaces    *workspaces.Group
	plans         *plans.Group
	apps          *apps.Group
	network       *network.Group
	agents        *agents.Group
	observability *observability.Group
	notifications *notifications.Group
	programs      *programs.Group
	mirror        *mirror.Group
	gitMirror     *gitmirror.Group
}

// assemble creates the groups and starts their services, in order.
func (s *Server) assemble(ctx context.Context, ln *listen.Listeners) error {
	g, err := s.groups(ctx)
	if err != nil {
		return err
	}
	api, err := s.api(g)
	if err != nil {
		return err
	}
	handler := api.Handler()
	g.observability.Support.SetHandler(handler)
	root, err := s.root(g, handler)
	if err != nil {
		return err
	}
	ln.Handler = g.apps.Wrap(apps.Edge{
		Identity: g.sessions.Identity, Connections: g.agents.Connections, Agents: g.agents.API,
		Hosts: g.network.Hosts, Clients: g.network.Clients, SecureCookies: s.c.Network.Cookies.Secure,
	}, root)
	daemons, err := g.provisioning.Daemons(g.mirror.Provisioner())
	if err != nil {
		return err
	}
	services := []lifecycle.Named{{Name: "hints", Service: s.base.Hub}, s.base.ClockService()}
	services = append(services, g.provisioning.Services()...)
	services = append(services, g.workspaces.Services()...)
	services = append(services, g.plans.Services()...)
	services = append(services, g.apps.Services()...)
	services = append(services, g.network.Services()...)
	services = append(services, g.gitMirror.Services()...)
	services = append(services, g.agents.Services()...)
	services = append(services, lifecycle.Named{Name: "provisioner connections", Service: g.provisioning.API})
	s.records = s.kinds(g)
	services = append(services, retention.Service(s.base, s.records))
	services = append(services, lifecycle.Named{Name: "encryption of columns", Service: dbcrypt.NewKeeper(s.base.Vault, s.base.Store, s.base.Logger("dbcrypt"))})
	services = append(services, g.notifications.Services()...)
	services = append(services, g.observability.Services()...)
	services = append(services, g.programs.Services(handler)...)
	services = append(services, lifecycle.Named{Name: "downloads", Service: s.programs}, lifecycle.Named{Name: "listeners", Service: ln})
	services = append(services, s.c.Network.STUNServices(s.base, ln)...)
	s.drain = drain{base: s.base, period: s.c.Network.DrainPeriod}
	services = append(services, lifecycle.Named{Name: "drain", Service: &s.drain})
	return s.services.Start(ctx, append(services, daemons...)...)
}

// groups creates the parts of the server. Nothing runs yet.
func (s *Server) groups(ctx context.Context) (g groups, err error) {
	b := s.base
	if b.Deployment, err = b.Store.EnsureDeployment(ctx); err != nil {
		return g, fmt.Errorf("read the deployment: %w", err)
	}
	b.Hub = notify.New(b.Store.Pool(), b.Logger("notify"))
	if b.Vault, err = s.c.database().Vault(ctx, b.Store); err != nil {
		return g, err
	}
	if g.network, err = network.New(b, s.c.Network); err != nil {
		return g, err
	}
	if g.sessions, err = sessions.New(ctx, b, s.c.Sessions, s.c.Workspaces.Quiet); err != nil {
		return g, err
	}
	if g.notifications, err = notifications.New(ctx, b, s.c.Notifications, s.c.Sessions.Email(), g.sessions.Identity); err != nil {
		return g, err
	}
	if g.external, err = external.New(ctx, b, s.c.External, g.sessions.Identity); err != nil {
		return g, err
	}
	g.gitMirror = gitmirror.New(b, s.c.GitMirror, g.external.AgentToken)
	g.directory = directory.New(b, s.c.Directory, g.sessions.Identity, g.sessions.Organizations)
	g.secrets = secrets.New(b, s.c.Secrets, g.sessions.Identity)
	limits := oauth2.Lifetimes{User: s.c.Sessions.MaxTokenLifetime, Admin: s.c.Sessions.MaxAdminLifetime}
	if g.oauth2, err = oauth2.New(ctx, b, s.c.oauth2(), limits, g.sessions.Identity, programs.Resources()); err != nil {
		return g, err
	}
	g.provisioning = provisioning.New(b, s.c.Provisioning, g.sessions.Identity)
	g.mirror = mirror.New(b, s.c.Mirror, g.provisioning.API.Authenticate)
	g.workspaces = workspaces.New(b, s.c.Workspaces, g.sessions.Identity, g.provisioning.Queue, g.external.Links)
	g.plans = plans.New(b, s.c.Workspaces.PlansAhead, g.provisioning.Queue, g.workspaces.Workspaces)
	g.workspaces.Templates.SecretsChanged = g.secrets.TemplateChanged
	g.apps = apps.New(b, s.c.Apps)
	g.programs = programs.New(b)
	g.agents, err = agents.New(ctx, b, agents.Config{
		BrowserOnly: s.c.Network.BrowserOnly, DisableDirect: s.c.Network.DisableDirect, STUN: s.c.Network.STUN(b), RelayAddress: s.c.Network.Relay(),
		SleepMemory:         s.c.Network.SleepMemory(),
		SleepTime:           s.c.Network.SleepTime,
		PortURL:             func(label string) string { return g.network.PortURL(b, label) },
		Observe:             s.c.Observability.AgentMetrics(),
		ConnectionRetention: s.c.Retention.ConnectionLogs,
		ExternalAuth:        g.external.AgentToken,
		ExternalAuthChanges: g.external.Links.Changes,
		GitSeed:             g.gitMirror.Seed,
		Secrets:             g.secrets,
		Identity:            g.sessions.Identity, Apps: g.apps.Apps, Proxies: g.network.Proxies,
	})
	if err != nil {
		return g, err
	}
	g.observability, err = observability.New(b, s.c.Observability, observability.Sources{
		STUN: s.c.Network.STUN(b), Proxies: g.network.AllProxies, Provisioners: g.provisioning.AllDaemons,
		Unencrypted:  s.c.Database.InClear(),
		ExternalAuth: g.external.Links.Probe, Notifications: g.notifications.Inbox.Status,
		Directories: s.c.directories(), CertFiles: s.c.Network.TLS.Served(),
	})
	if err == nil {
		err = g.observability.CreateSupport(ctx, s.c.secrets(), g.agents.Presence, g.agents.API.AgentHTTP)
	}
	return g, err
}

// kinds returns the kinds of records that are deleted in the background.
func (s *Server) kinds(g groups) []retention.Kind {
	kinds := []retention.Kind{
		{Name: "activity of users who are away", Delete: func(ctx context.Context) (int64, error) { return 0, g.sessions.Identity.MarkDormant(ctx) }},
		{Name: "service accounts whose time is over", Delete: g.directory.Accounts.SuspendExpired},
		{Name: "sign-in attempts that no longer count", Delete: g.sessions.Identity.PurgeAttempts},
		{Name: "old records of the use of apps", Delete: g.apps.Apps.PurgeUsage},
		{Name: "old records of connections", Delete: g.agents.Connections.Purge},
		{Name: "old reports of the use of agents", Delete: g.observability.Site.PurgeUsage},
		{Name: "old health reports", Delete: g.observability.Health.PurgeHistory},
	}
	kinds = append(kinds, g.notifications.Records()...)
	kinds = append(kinds, g.oauth2.Records()...)
	keep := s.c.Retention
	kinds = append(kinds, retention.Keep("audit logs", keep.AuditLogs, g.observability.Site.PurgeAudit)...)
	kinds = append(kinds, retention.Keep("expired tokens", keep.APIKeys, g.sessions.Identity.PurgeKeys)...)
	kinds = append(kinds, retention.Keep("agent logs", keep.AgentLogs, g.agents.Presence.PurgeLogs)...)
	kinds = append(kinds, retention.Keep("job logs", keep.JobLogs, g.provisioning.Queue.PurgeLogs)...)
	return append(kinds, retention.Keep("build timings", keep.BuildTimings, g.provisioning.Queue.PurgeTimings)...)
}

func (s *Server) api(g groups) (*httpapi.API, error) {
	experiments, err := s.c.Observability.EnabledExperiments()
	if err != nil {
		return nil, err
	}
	mounts := g.agents.API.Mounts()
	mounts[provisionapi.Pattern] = g.provisioning.API.Handler()
	maps.Copy(mounts, g.directory.Mounts())
	maps.Copy(mounts, g.mirror.Mounts())
	g.programs.Mount(mounts)
	g.oauth2.Mount(mounts)
	var latest func() codersdk.UpdateCheckResponse
	if g.observability.Updates != nil {
		latest = g.observability.Updates.Latest
	}
	return httpapi.New(httpapi.Config{
		Latest: latest,
		Log:    s.base.Logger("httpapi"), Registerer: s.base.Registry, AccessURL: s.base.AccessURL, Version: s.c.Version, Tracer: s.base.Tracer,
		DeploymentID: s.base.Deployment.String(), WebpushPublicKey: g.notifications.Browsers.PublicKey(), Hub: s.base.Hub, Clients: g.network.Clients, Mounts: mounts,

		Identity: g.sessions.Identity, Login: g.sessions.Login, Organizations: g.sessions.Organizations,
		Queue: g.provisioning.Queue, Keys: g.provisioning.Keys,
		Templates: g.workspaces.Templates, Workspaces: g.workspaces.Workspaces, Prebuilds: g.workspaces.Prebuilds,
		Presence: g.agents.Presence, Connections: g.agents.Connections, Relay: g.agents.Board.Debug,
		AgentHTTP: g.agents.API.AgentHTTP, AgentPTY: g.agents.API.AgentPTY,
		Apps: g.apps.Apps, AppHosts: g.network.Hosts, AppRules: s.c.Apps.Rules(), Proxies: g.network.Proxies,
		Site: g.observability.Site, Health: g.observability.Health, Insights: g.observability.Insights,
		Routes: slices.Concat(
			g.observability.Support.Routes(), insights.Routes(s.base), g.notifications.Routes(), g.secrets.Routes(), g.oauth2.Routes(), g.directory.Routes(),
			gallery.Routes(s.base, g.sessions.Identity), g.mirror.Routes(), g.plans.Routes(),
			rules.Routes(s.base, g.sessions.Identity, g.external.Links.Configured()),
			g.external.Routes(s.base.Logger("externalauth"), s.c.Network.Cookies.Secure || s.base.AccessURL.Scheme == "https"),
		),

		SecureCookies: s.c.Network.Cookies.Secure, SameSiteNone: s.c.Network.Cookies.SameSite == "none", AllowCORS: s.c.Network.AllowCORS,
		SSH: s.c.Workspaces.SSH(), PasswordAuthDisabled: s.c.Sessions.DisablePasswordAuth, TermsOfServiceURL: s.c.Sessions.TermsOfServiceURL,
		AgentAPIVersion: agentrpc.Version, ProvisionerAPIVersion: codersdk.ProvisionerAPIVersion, Experiments: experiments,
	}), nil
}
