package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/agentapi"
	"github.com/seed-2a7f8fe7/coder/internal/app"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
	"github.com/seed-2a7f8fe7/coder/internal/health"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/insight"
	"github.com/seed-2a7f8fe7/coder/internal/instance"
	"github.com/seed-2a7f8fe7/coder/internal/keyring"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/login"
	"github.com/seed-2a7f8fe7/coder/internal/mail"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/prebuild"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/provisionapi"
	"github.com/seed-2a7f8fe7/coder/internal/proxy"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/schedule"
	"github.com/seed-2a7f8fe7/coder/internal/share"
	"github.com/seed-2a7f8fe7/coder/internal/steward"
	"github.com/seed-2a7f8fe7/coder/internal/switchboard"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
	"github.com/seed-2a7f8fe7/coder/internal/template"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/vault"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// facts are what the database says about itself.
type facts struct {
	id        uuid.UUID
	authority *tunnel.Authority
	hostKeys  []byte
	logins    []byte
	vault     *vault.Vault
	mailer    *mail.Mailer // nil: no e-mail is sent
}

// deployment reads it, making what is not there yet; of several replicas that
// start at once all get the same.
func (s *Server) deployment(ctx context.Context) (d facts, err error) {
	q := s.db.store
	if d.id, err = q.EnsureDeployment(ctx); err != nil {
		return d, fmt.Errorf("read the deployment: %w", err)
	}
	if _, err = q.EnsureDefaultOrganization(ctx, uuid.New(), time.Now()); err != nil {
		return d, fmt.Errorf("make the default organization: %w", err)
	}
	if s.c.OperatorToken != "" {
		if err := steward.Admit(ctx, s.db.store, s.c.OperatorToken); err != nil {
			return d, err
		}
	}
	seed, err := s.secret(ctx, "tunnel-authority", tunnel.SeedSize)
	if err != nil {
		return d, err
	}
	if d.authority, err = tunnel.NewAuthority(seed); err != nil {
		return d, err
	}
	if d.hostKeys, err = s.secret(ctx, "ssh-host-key", 32); err != nil {
		return d, err
	}
	d.logins, err = s.secret(ctx, "logins", 32)
	return d, err
}

// secret gives the shared secret of that name, making it the first time.
func (s *Server) secret(ctx context.Context, name string, size int) ([]byte, error) {
	fresh := make([]byte, size)
	rand.Read(fresh) //nolint:errcheck // documented never to fail
	b, err := s.db.store.EnsureSecret(ctx, name, fresh)
	if err != nil {
		return nil, fmt.Errorf("read the secret %s: %w", name, err)
	}
	return b, nil
}

// rooms are the use cases and edges of one server.
type rooms struct {
	hub         *notify.Hub
	identity    *identity.Service
	login       *login.Service
	connections *connection.Service
	people      *organization.Service
	queue       *queue.Service
	keys        *keyring.Service
	shares      *share.Service
	templates   *template.Service
	workspaces  *workspace.Service
	schedule    *schedule.Service
	presence    *presence.Service
	board       *switchboard.Board
	agents      *agentapi.API
	apps        *app.Service
	proxies     *proxy.Service
	provision   *provisionapi.API
	site        *deployment.Service
	health      *health.Service
	insights    *insight.Service
	prebuilt    *prebuild.Service
}

// assemble makes the rooms and starts what lives, in order.
func (s *Server) assemble(ctx context.Context, ln *listen.Listeners) error {
	d, err := s.deployment(ctx)
	if err != nil {
		return err
	}
	if d.vault, err = s.openVault(ctx); err != nil {
		return err
	}
	if d.mailer, err = s.mailer(); err != nil {
		return err
	}
	r, err := s.rooms(d)
	if err != nil {
		return err
	}
	api, err := s.api(r, d)
	if err != nil {
		return err
	}
	root, err := s.root(api.Handler())
	if err != nil {
		return err
	}
	if ln.Handler, err = s.withApps(r, root); err != nil {
		return err
	}
	daemons, err := s.daemons(r.provision, r.shares)
	if err != nil {
		return err
	}
	services := []lifecycle.Named{
		{Name: "hints", Service: r.hub},
		{Name: "queue", Service: r.queue},
		{Name: "keys of provisioners", Service: r.keys},
		{Name: "shares of provisioners", Service: r.shares},
		{Name: "presence", Service: r.presence},
		{Name: "schedules of workspaces", Service: r.schedule},
		{Name: "apps", Service: r.apps},
		{Name: "checks of workspace proxies", Service: r.proxies},
		{Name: "prebuilt workspaces", Service: r.prebuilt},
		{Name: "record of connections", Service: r.connections},
		{Name: "switchboard", Service: r.board},
		{Name: "agent connections", Service: r.agents},
		{Name: "provisioner connections", Service: r.provision},
		{Name: "purge of tokens", Service: purge(s.log, "expired tokens", func(ctx context.Context) (int64, error) {
			return r.identity.PurgeKeys(ctx, s.c.APIKeysRetention)
		})},
		{Name: "dormancy of users", Service: purge(s.log, "activity of users who are away", func(ctx context.Context) (int64, error) {
			return 0, r.identity.MarkDormant(ctx)
		})},
		{Name: "purge of attempts to log in", Service: purge(s.log, "attempts to log in that count no more", r.identity.PurgeAttempts)},
		{Name: "purge of the use of apps", Service: purge(s.log, "old records of the use of apps", r.apps.PurgeUsage)},
		{Name: "purge of the connection log", Service: purge(s.log, "old records of connections", r.connections.Purge)},
		{Name: "purge of the use of agents", Service: purge(s.log, "old reports of the use of agents", r.site.PurgeUsage)},
	}
	if d.mailer != nil {
		services = append(services, lifecycle.Named{Name: "e-mail", Service: d.mailer})
	}
	if s.c.PrometheusEnable {
		services = append(services, lifecycle.Named{Name: "metrics", Service: &telemetry.Listener{Address: s.c.PrometheusAddress, Handler: telemetry.Metrics(s.registry)}})
	}
	if s.c.PprofEnable {
		services = append(services, lifecycle.Named{Name: "profiles", Service: &telemetry.Listener{Address: s.c.PprofAddress, Handler: telemetry.Profiles()}})
	}
	services = append(services, lifecycle.Named{Name: "listeners", Service: ln})
	services = append(services, s.stunServices(ln)...)
	return s.group.Start(ctx, append(services, daemons...)...)
}

// relayAddress is where other replicas reach this one, "" for nowhere.
func relayAddress(u *url.URL) string {
	if u == nil {
		return ""
	}
	return u.String()
}

func (s *Server) rooms(d facts) (rooms, error) {
	named := func(name string) []any { return []any{telemetry.NameKey, name} }
	store := s.db.store
	var r rooms
	r.hub = notify.New(store.Pool(), s.log.With(named("notify")...))
	r.identity = identity.New(identity.Config{
		Store: store, Log: s.log.With(named("identity")...), Hub: r.hub, Vault: d.vault, SendPasscode: s.passcodes(d.mailer),
		SessionDuration: s.c.Session.Duration, DisableSessionRefresh: s.c.Session.DisableRefresh,
		DefaultTokenLifetime: s.c.Session.DefaultTokenLifetime, MaxTokenLifetime: s.c.Session.MaxTokenLifetime,
		MaxAdminTokenLifetime: s.c.Session.MaxAdminLifetime, DisablePasswordAuth: s.c.Session.DisablePasswordAuth,
		DisableOwnerWorkspaceAccess: s.c.NoOwnerWorkspaceAccess, SSHKeyAlgorithm: s.c.SSHKeyAlgorithm,
		Verify:                  func(ctx context.Context, id uuid.UUID, by coder.LoginType) error { return r.login.Verify(ctx, id, by) },
		DisableWorkspaceSharing: s.c.NoWorkspaceSharing, Quiet: s.c.Quiet,
	})
	var err error
	r.login, err = login.New(login.Config{
		Store: store, Identity: r.identity, Log: s.log.With(named("login")...), AccessURL: s.accessURL, Secret: d.logins, Vault: d.vault, OIDC: s.c.OIDC, GitHub: s.c.GitHub,
	})
	r.people = organization.New(organization.Config{Store: store, Hub: r.hub})
	r.queue = queue.New(queue.Config{
		Store: store, Hub: r.hub, Log: s.log.With(named("queue")...), Registerer: s.registry,
		ForceCancel: s.c.ForceCancelInterval, Version: s.c.Version,
	})
	r.keys = keyring.New(keyring.Config{Store: store, Hub: r.hub, Log: s.log.With(named("keyring")...)})
	r.shares = share.New(share.Config{Store: store, Hub: r.hub, Queue: r.queue, Log: s.log.With(named("share")...)})
	r.templates = template.New(template.Config{Store: store, Queue: r.queue, Log: s.log.With(named("template")...), AccessURL: s.accessURL})
	r.workspaces = workspace.New(workspace.Config{
		Store: store, Queue: r.queue, Hub: r.hub, Log: s.log.With(named("workspace")...), AccessURL: s.accessURL,
		AllowRenames: s.c.AllowWorkspaceRenames, AllowDebugLogs: s.c.TerraformDebug, Quiet: s.c.Quiet,
		OwnerToken: func(ctx context.Context, q *sqlc.Queries, ownerID, buildID uuid.UUID) (string, error) {
			return r.identity.BuildToken(ctx, q, ownerID, buildID, "")
		},
		DropOwnerToken: r.identity.DeleteBuildToken, Registerer: s.registry,
		ProviderToken: func(l sqlc.UserLink) (string, error) {
			t, err := d.vault.OpenTokens(l)
			return t.Access, err
		},
	})
	r.schedule = schedule.New(schedule.Config{
		Store: store, Workspaces: r.workspaces, Log: s.log.With(named("schedule")...), Interval: s.c.AutobuildPollInterval, Registerer: s.registry,
	})
	var observe *presence.Observation
	if s.c.PrometheusEnable {
		observe = &presence.Observation{Stats: s.c.AgentStats, By: s.c.AgentStatsBy}
	}
	r.presence = presence.New(presence.Config{
		Store: store, Hub: r.hub, Log: s.log.With(named("presence")...), ReplicaID: s.replica, AccessURL: s.accessURL.String(), PortURL: s.portURL,
		ClientCA: d.authority.Certificate(), HostKeySecret: d.hostKeys, DisableDirect: s.c.DisableDirect, STUN: s.stunServers(), Registerer: s.registry, Observe: observe,
	})
	r.board = switchboard.New(switchboard.Config{
		Store: store, Replica: switchboard.Replica{ID: s.replica, Version: s.c.Version, RelayAddress: relayAddress(s.c.RelayURL)}, Authority: d.authority,
		Log: s.log.With(named("switchboard")...), Registerer: s.registry,
	})
	r.apps = app.New(app.Config{Store: store, Hub: r.hub, Vault: d.vault, Log: s.log.With(named("apps")...), NoUsage: s.c.Apps.NoUsage})
	r.connections = connection.New(connection.Config{Store: store, Log: s.log.With(named("connection")...), ReplicaID: s.replica, Retention: s.c.ConnectionLogsRetention, Changed: func() { r.hub.Publish(notify.Kind(string(coder.RBACResourceConnectionLog))) }})
	var badHosts error
	r.proxies, badHosts = s.proxies(d.id)
	instances, badInstances := instance.New(instance.Config{})
	r.agents = agentapi.New(agentapi.Config{
		Instances: instances, BrowserOnly: s.c.BrowserOnly,
		Log: s.log.With(named("agentapi")...), Presence: r.presence, Board: r.board, Authority: d.authority, Identity: r.identity, Apps: r.apps, Connections: r.connections, Proxies: r.proxies,
	})
	r.provision = provisionapi.New(provisionapi.Config{
		Queue: r.queue, Keys: r.keys, Identity: r.identity, Log: s.log.With(named("provisionapi")...), PSK: s.c.ProvisionerDaemonPSK, Version: s.c.Version,
	})
	r.prebuilt = s.prebuilds(r)
	s.site(&r)
	return r, errors.Join(err, badInstances, badHosts)
}

func (s *Server) api(r rooms, d facts) (*httpapi.API, error) {
	clients, err := s.clients()
	if err != nil {
		return nil, err
	}
	hosts, err := s.appHosts()
	if err != nil {
		return nil, err
	}
	mounts := r.agents.Mounts()
	mounts[provisionapi.Pattern] = r.provision.Handler()
	return httpapi.New(httpapi.Config{
		Log: s.log.With(telemetry.NameKey, "httpapi"), Registerer: s.registry, AccessURL: s.accessURL, Version: s.c.Version,
		DeploymentID: d.id.String(), Identity: r.identity, Login: r.login, Connections: r.connections, Organizations: r.people, Templates: r.templates, Workspaces: r.workspaces,
		Queue: r.queue, Keys: r.keys, Presence: r.presence, Apps: r.apps, AppHosts: hosts, AppRules: s.c.Apps.rules(), Proxies: r.proxies, Hub: r.hub,
		Clients: clients, SecureCookies: s.c.Cookies.Secure, SameSiteNone: s.c.Cookies.SameSite == "none",
		SSH:                  coder.SSHConfigResponse{HostnamePrefix: s.c.HostnamePrefix, HostnameSuffix: s.c.HostnameSuffix, SSHConfigOptions: s.c.SSHConfigOptions},
		PasswordAuthDisabled: s.c.Session.DisablePasswordAuth, TermsOfServiceURL: s.c.TermsOfServiceURL,
		AgentAPIVersion: "1.0", ProvisionerAPIVersion: "1.14",
		Site: r.site, Health: r.health, Insights: r.insights, Prebuilds: r.prebuilt, Relay: r.board.Debug,
		AgentHTTP: r.agents.AgentHTTP, AgentPTY: r.agents.AgentPTY,
		Mounts: mounts,
	}), nil
}
