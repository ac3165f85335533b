package serve

import (
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/later"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// serverFlags is where the options of the server go.
type serverFlags struct {
	cfg          server.Config
	log          telemetry.LogConfig
	config       string
	writeConfig  bool
	sshOptions   []string
	types        []string
	supportLinks string
	ignored      time.Duration
	telemetry    bool
	usage        bool
	quietHours   bool
	login        loginFlags
	mail         mailFlags
	// githubDefault has no effect.
	githubDefault bool
	later         []*option.Option
}

// under puts options under one heading of the help.
func under(topic string, options ...*option.Option) []*option.Option {
	for _, o := range options {
		o.Topic = topic
		o.OnlyHere()
	}
	return options
}

// serverOptions declares every option of the server: first those it acts on,
// then those of later rooms.
func serverOptions(a *app.Run, f *serverFlags) []*option.Option {
	var all []*option.Option
	all = append(all, networkOptions(&f.cfg)...)
	all = append(all, tlsOptions(&f.cfg.TLS)...)
	all = append(all, databaseOptions(a, &f.cfg)...)
	all = append(all, provisioningOptions(f)...)
	all = append(all, sessionOptions(&f.cfg)...)
	all = append(all, oidcOptions(f)...)
	all = append(all, githubOptions(f)...)
	all = append(all, encryptionOptions(f)...)
	all = append(all, mailOptions(f)...)
	all = append(all, retentionOptions(f)...)
	all = append(all, observabilityOptions(f)...)
	all = append(all, logOptions(&f.log)...)
	all = append(all, appOptions(f)...)
	all = append(all, under("Workspaces",
		option.Bool(&f.cfg.AllowWorkspaceRenames, "allow-workspace-renames", "Let workspaces be renamed, which may lose data where a template names things after them.").Env("CODER_ALLOW_WORKSPACE_RENAMES").YAML("allowWorkspaceRenames").Def("false"),
		option.Bool(&f.cfg.NoOwnerWorkspaceAccess, "disable-owner-workspace-access", "Keep owners out of others' workspaces.").Env("CODER_DISABLE_OWNER_WORKSPACE_ACCESS").YAML("disableOwnerWorkspaceAccess"),
		option.Bool(&f.cfg.NoWorkspaceSharing, "disable-workspace-sharing", "Let nobody share a workspace.").Env("CODER_DISABLE_WORKSPACE_SHARING").YAML("disableWorkspaceSharing"),
		option.String(&f.cfg.Quiet.Default, "default-quiet-hours-schedule", "When workspaces that must stop once are stopped.").Env("CODER_QUIET_HOURS_DEFAULT_SCHEDULE").YAML("userQuietHoursSchedule.defaultQuietHoursSchedule").Def("CRON_TZ=UTC 0 0 * * *"),
		option.Duration(&f.cfg.AutobuildPollInterval, "autobuild-poll-interval", "How often it is looked which workspaces are to start, stop or be deleted by themselves.").Env("CODER_AUTOBUILD_POLL_INTERVAL").YAML("autobuildPollInterval").Def("1m0s").Hide(),
		option.Bool(&f.quietHours, "allow-custom-quiet-hours", "Let people choose their own quiet hours.").Env("CODER_ALLOW_CUSTOM_QUIET_HOURS").YAML("userQuietHoursSchedule.allowCustomQuietHours").Def("true"),
		option.String(&f.cfg.HostnameSuffix, "workspace-hostname-suffix", "Last part of the host names of workspaces in SSH configurations.").Env("CODER_WORKSPACE_HOSTNAME_SUFFIX").YAML("client.workspaceHostnameSuffix").Def("coder"),
		option.List(&f.sshOptions, "ssh-config-options", "Options for everybody's SSH configuration, as Key=value.").Env("CODER_SSH_CONFIG_OPTIONS").YAML("client.sshConfigOptions"),
		option.String(&f.cfg.SSHKeyAlgorithm, "ssh-keygen-algorithm", "Kind of users' git keys: ed25519, ecdsa or rsa4096.").Env("CODER_SSH_KEYGEN_ALGORITHM").YAML("sshKeygenAlgorithm").Def("ed25519"),
	)...)
	all = append(all, prebuildOptions(&f.cfg.Prebuilds)...)
	all = append(all, under("Other",
		option.Path(&f.config, a.Home(), "config", "YAML file with options; flags and the environment win over it.").Short("c").Env("CODER_CONFIG_PATH").As("yaml-config-path"),
		option.Bool(&f.writeConfig, "write-config", "Print the options as YAML for --config, and exit."),
		option.String(&f.cfg.UpgradeMessage, "cli-upgrade-message", "What to tell people whose program is of another version.").Env("CODER_CLI_UPGRADE_MESSAGE").YAML("client.cliUpgradeMessage"),
		option.URL(&f.cfg.DocsURL, "docs-url", "URL of the documentation that pages link to.").Env("CODER_DOCS_URL").YAML("networking.docsURL").Def("https://coder.com/docs"),
		option.JSON[[]coder.LinkConfig](&f.supportLinks, "[]codersdk.LinkConfig", "support-links", "Links of the help menu, as a JSON list.").Env("CODER_SUPPORT_LINKS").YAML("supportLinks"),
		option.Bool(&f.telemetry, "telemetry", "Accepted and without effect: nothing is reported to anybody.").Env("CODER_TELEMETRY_ENABLE").YAML("telemetry.enable").Def("true"),
	)...)
	for _, t := range later.Options() {
		for _, r := range t.Rows {
			o := r.Option()
			f.later = append(f.later, o)
			all = append(all, under(t.Name, o)...)
		}
	}
	return all
}

func appOptions(f *serverFlags) []*option.Option {
	c := &f.cfg.Apps
	return under("Apps",
		option.Bool(&c.NoPaths, "disable-path-apps", "Offer no apps on the dashboard's own host.").Env("CODER_DISABLE_PATH_APPS").YAML("disablePathApps"),
		option.Bool(&c.PathSharing, "dangerous-allow-path-app-sharing", "Let apps on the dashboard's own host be shared: their pages may do there what their visitors may.").Env("CODER_DANGEROUS_ALLOW_PATH_APP_SHARING"),
		option.Bool(&c.PathSiteOwners, "dangerous-allow-path-app-site-owner-access", "Let owners open others' apps on the dashboard's own host, whose pages then act as them.").Env("CODER_DANGEROUS_ALLOW_PATH_APP_SITE_OWNER_ACCESS"),
		option.Bool(&f.usage, "stats-collection-usage-stats-enable", "Keep a record of which apps are used, by whom and how long.").Env("CODER_STATS_COLLECTION_USAGE_STATS_ENABLE").YAML("introspection.statsCollection.usageStats.enable").Def("true"),
	)
}

func networkOptions(c *server.Config) []*option.Option {
	return under("Networking",
		option.URL(&c.AccessURL, "access-url", "URL at which people and workspaces reach the server; the first address otherwise.").Env("CODER_ACCESS_URL").YAML("networking.accessURL"),
		option.String(&c.WildcardAccessURL, "wildcard-access-url", "Host names of apps, such as *.apps.example.com.").Env("CODER_WILDCARD_ACCESS_URL").YAML("networking.wildcardAccessURL"),
		option.Bool(&c.RedirectToAccessURL, "redirect-to-access-url", "Send requests to other hosts to the access URL.").Env("CODER_REDIRECT_TO_ACCESS_URL").YAML("networking.redirectToAccessURL"),
		option.String(&c.HTTPAddress, "http-address", "Address to answer HTTP at; \"\" for not at all.").Env("CODER_HTTP_ADDRESS").YAML("networking.http.httpAddress").Def("127.0.0.1:3000"),
		option.Bool(&c.BrowserOnly, "browser-only", "Let workspaces be reached through the browser only.").Env("CODER_BROWSER_ONLY").YAML("networking.browserOnly"),
		option.Bool(&c.DisableDirect, "block-direct-connections", "Let workspaces be reached through the relay only.").Env("CODER_BLOCK_DIRECT").YAML("networking.derp.blockDirect"),
		option.List(&c.STUNServers, "derp-server-stun-addresses", `STUN servers that tell the two ends of a connection their public addresses, beside this server; "disable" for none.`).Env("CODER_DERP_SERVER_STUN_ADDRESSES").YAML("networking.derp.stunAddresses").Def("stun.l.google.com:19302,stun1.l.google.com:19302,stun2.l.google.com:19302,stun3.l.google.com:19302,stun4.l.google.com:19302"),
		option.URL(&c.RelayURL, "derp-server-relay-url", "URL at which other replicas of the deployment reach this one.").Env("CODER_DERP_SERVER_RELAY_URL").YAML("networking.derp.relayURL"),
		option.List(&c.ProxyTrustedHeaders, "proxy-trusted-headers", "Headers to take a client's address from.").Env("CODER_PROXY_TRUSTED_HEADERS").YAML("networking.proxyTrustedHeaders"),
		option.List(&c.ProxyTrustedOrigins, "proxy-trusted-origins", "Networks of proxies to take those headers from.").Env("CODER_PROXY_TRUSTED_ORIGINS").YAML("networking.proxyTrustedOrigins"),
		option.Duration(&c.ProxyHealthInterval, "proxy-health-interval", "How often workspace proxies are checked.").Env("CODER_PROXY_HEALTH_INTERVAL").YAML("networking.http.proxyHealthInterval").Def("1m0s"),
		option.List(&c.AdditionalCSP, "additional-csp-policy", "Directives to add to the Content-Security-Policy.").Env("CODER_ADDITIONAL_CSP_POLICY").YAML("networking.http.additionalCSPPolicy"),
		option.Int(&c.StrictTransportSecurity, "strict-transport-security", "Seconds for which browsers shall use HTTPS only; 0 does not say so.").Env("CODER_STRICT_TRANSPORT_SECURITY").YAML("networking.tls.strictTransportSecurity").Def("0"),
		option.List(&c.StrictTransportOptions, "strict-transport-security-options", "Further directives of that header: includeSubDomains, preload.").Env("CODER_STRICT_TRANSPORT_SECURITY_OPTIONS").YAML("networking.tls.strictTransportSecurityOptions"),
	)
}

func tlsOptions(c *server.TLS) []*option.Option {
	return under("TLS",
		option.Bool(&c.Enable, "tls-enable", "Answer HTTPS.").Env("CODER_TLS_ENABLE").YAML("networking.tls.enable"),
		option.Address(&c.Address, "tls-address", "Address to answer HTTPS at.").Env("CODER_TLS_ADDRESS").YAML("networking.tls.address").Def("127.0.0.1:3443"),
		option.List(&c.CertFiles, "tls-cert-file", "Certificates, chosen by the name that a client asks for.").Env("CODER_TLS_CERT_FILE").YAML("networking.tls.certFiles"),
		option.List(&c.KeyFiles, "tls-key-file", "Keys of the certificates, in the same order.").Env("CODER_TLS_KEY_FILE").YAML("networking.tls.keyFiles"),
		option.String(&c.ClientCAFile, "tls-client-ca-file", "Certificates of authorities to check clients with.").Env("CODER_TLS_CLIENT_CA_FILE").YAML("networking.tls.clientCAFile"),
		option.String(&c.ClientAuth, "tls-client-auth", "Whether clients need a certificate: none, request, require-any, verify-if-given or require-and-verify.").Env("CODER_TLS_CLIENT_AUTH").YAML("networking.tls.clientAuth").Def("none"),
		option.String(&c.MinVersion, "tls-min-version", "Oldest version to speak: tls10, tls11, tls12 or tls13.").Env("CODER_TLS_MIN_VERSION").YAML("networking.tls.minVersion").Def("tls12"),
	)
}

func databaseOptions(a *app.Run, c *server.Config) []*option.Option {
	return under("Database",
		option.String(&c.PostgresURL, "postgres-url", "PostgreSQL to keep everything in; one of its own is started otherwise.").Env("CODER_PG_CONNECTION_URL"),
		option.Int(&c.PostgresMaxOpen, "postgres-conn-max-open", "How many connections there may be.").Env("CODER_PG_CONN_MAX_OPEN").YAML("pgConnMaxOpen").Def("10"),
		option.String(&c.PostgresMaxIdle, "postgres-conn-max-idle", "How many of them are kept; auto for a third.").Env("CODER_PG_CONN_MAX_IDLE").YAML("pgConnMaxIdle").Def("auto"),
		option.Path(&c.CacheDir, a.Home(), "cache-dir", "Directory of what can be fetched or made again.").Env("CODER_CACHE_DIRECTORY").YAML("cacheDir").Def("~/.cache/coder"),
		option.Path(&c.PostgresBinDir, a.Home(), "postgres-bin-dir", "Directory of PostgreSQL's programs, for the database of its own.").Env("CODER_POSTGRES_BIN_DIR").Hide(),
		option.Path(&c.BinDir, a.Home(), "binary-dir", "Directory of programs for other systems, named coder-<os>-<arch>.").Env("CODER_BINARY_DIR").Hide(),
	)
}

func provisioningOptions(f *serverFlags) []*option.Option {
	c := &f.cfg
	return under("Provisioning",
		option.Int(&c.ProvisionerDaemons, "provisioner-daemons", "How many provisioners to run, each for one build at a time; 0 for none.").Env("CODER_PROVISIONER_DAEMONS").YAML("provisioning.daemons").Def("3"),
		option.String(&c.ProvisionerDaemonPSK, "provisioner-daemon-psk", "Secret that external provisioners of all organizations may sign in with.").Env("CODER_PROVISIONER_DAEMON_PSK"),
		option.String(&c.OperatorToken, "operator-token", "Token that the operator of a Kubernetes cluster signs in with, as an account of its own.").Env("CODER_OPERATOR_TOKEN").Hide(),
		option.Duration(&c.ForceCancelInterval, "provisioner-force-cancel-interval", "How long a canceled build may take to end by itself.").Env("CODER_PROVISIONER_FORCE_CANCEL_INTERVAL").YAML("provisioning.forceCancelInterval").Def("10m0s"),
		option.Duration(&f.ignored, "provisioner-daemon-poll-interval", "Accepted and without effect: jobs are handed out at once.").Env("CODER_PROVISIONER_DAEMON_POLL_INTERVAL").YAML("provisioning.daemonPollInterval").Def("1s"),
		option.Duration(&f.ignored, "provisioner-daemon-poll-jitter", "Accepted and without effect: jobs are handed out at once.").Env("CODER_PROVISIONER_DAEMON_POLL_JITTER").YAML("provisioning.daemonPollJitter").Def("100ms"),
		option.Bool(&c.TerraformDebug, "enable-terraform-debug-mode", "Let builds ask for Terraform's debug log.").Env("CODER_ENABLE_TERRAFORM_DEBUG_MODE").YAML("introspection.logging.enableTerraformDebugMode").Def("false"),
		option.List(&f.types, "provisioner-types", "Tools of the built-in provisioners: terraform, echo.").Env("CODER_PROVISIONER_TYPES").Def("terraform").Hide(),
	)
}

func sessionOptions(c *server.Config) []*option.Option {
	s := &c.Session
	return under("Sessions",
		option.Duration(&s.Duration, "session-duration", "How long a session lasts after its last use.").Env("CODER_SESSION_DURATION").YAML("networking.http.sessionDuration").Def("24h0m0s"),
		option.Bool(&s.DisableRefresh, "disable-session-expiry-refresh", "Let a session end that long after its start, used or not.").Env("CODER_DISABLE_SESSION_EXPIRY_REFRESH").YAML("networking.http.disableSessionExpiryRefresh"),
		option.Bool(&s.DisablePasswordAuth, "disable-password-auth", "Let nobody but owners sign in with a password.").Env("CODER_DISABLE_PASSWORD_AUTH").YAML("networking.http.disablePasswordAuth"),
		option.Duration(&s.MaxTokenLifetime, "max-token-lifetime", "How long a token may live at most.").Env("CODER_MAX_TOKEN_LIFETIME").YAML("networking.http.maxTokenLifetime").Def("876600h0m0s"),
		option.Duration(&s.MaxAdminLifetime, "max-admin-token-lifetime", "How long a token of an owner may live at most.").Env("CODER_MAX_ADMIN_TOKEN_LIFETIME").YAML("networking.http.maxAdminTokenLifetime").Def("168h0m0s"),
		option.Duration(&s.DefaultTokenLifetime, "default-token-lifetime", "How long a token lives when nothing else is asked for.").Env("CODER_DEFAULT_TOKEN_LIFETIME").YAML("defaultTokenLifetime").Def("168h0m0s"),
		option.String(&c.TermsOfServiceURL, "terms-of-service-url", "URL of the terms that people agree to who sign in.").Env("CODER_TERMS_OF_SERVICE_URL").YAML("termsOfServiceURL"),
		option.Bool(&c.Cookies.Secure, "secure-auth-cookie", "Let browsers send the session over HTTPS only.").Env("CODER_SECURE_AUTH_COOKIE").YAML("networking.secureAuthCookie"),
		option.Choice(&c.Cookies.SameSite, "samesite-auth-cookie", "Whether browsers send the session along from other sites.", "lax", "none").Env("CODER_SAMESITE_AUTH_COOKIE").YAML("networking.sameSiteAuthCookie").Def("lax"),
	)
}

func observabilityOptions(f *serverFlags) []*option.Option {
	c := &f.cfg
	return under("Observability",
		option.Bool(&c.PrometheusEnable, "prometheus-enable", "Show metrics.").Env("CODER_PROMETHEUS_ENABLE").YAML("introspection.prometheus.enable"),
		option.Address(&c.PrometheusAddress, "prometheus-address", "Address to show them at.").Env("CODER_PROMETHEUS_ADDRESS").YAML("introspection.prometheus.address").Def("127.0.0.1:2112"),
		option.Bool(&c.AgentStats, "prometheus-collect-agent-stats", "Show metrics of what agents report, too.").Env("CODER_PROMETHEUS_COLLECT_AGENT_STATS").YAML("introspection.prometheus.collect_agent_stats"),
		option.Words(&c.AgentStatsBy, "prometheus-aggregate-agent-stats-by", "Labels by which those are told apart.", "agent_name", "template_name", "username", "workspace_name").As("string-array").Env("CODER_PROMETHEUS_AGGREGATE_AGENT_STATS_BY").YAML("introspection.prometheus.aggregate_agent_stats_by").Def("agent_name,template_name,username,workspace_name"),
		option.Bool(&c.PprofEnable, "pprof-enable", "Show profiles.").Env("CODER_PPROF_ENABLE").YAML("introspection.pprof.enable"),
		option.Address(&c.PprofAddress, "pprof-address", "Address to show them at.").Env("CODER_PPROF_ADDRESS").YAML("introspection.pprof.address").Def("127.0.0.1:6060"),
		option.Duration(&c.HealthRefresh, "health-check-refresh", "How long a health report holds.").Env("CODER_HEALTH_CHECK_REFRESH").YAML("introspection.healthcheck.refresh").Def("10m0s"),
		option.Duration(&c.HealthThreshold, "health-check-threshold-database", "How slow the database may answer and still be healthy.").Env("CODER_HEALTH_CHECK_THRESHOLD_DATABASE").YAML("introspection.healthcheck.thresholdDatabase").Def("15ms"),
	)
}

func logOptions(c *telemetry.LogConfig) []*option.Option {
	return under("Observability",
		option.List(&c.Filter, "log-filter", "Let debug lines through of parts whose names match; .* for all.").Short("l").Env("CODER_LOG_FILTER").YAML("introspection.logging.filter"),
		option.String(&c.Human, "log-human", "File for the log as text; \"\" for none.").Env("CODER_LOGGING_HUMAN").YAML("introspection.logging.humanPath").Def("/dev/stderr"),
		option.String(&c.JSON, "log-json", "File for the log as JSON.").Env("CODER_LOGGING_JSON").YAML("introspection.logging.jsonPath"),
		option.String(&c.Stackdriver, "log-stackdriver", "File for the log as Google Cloud reads it.").Env("CODER_LOGGING_STACKDRIVER").YAML("introspection.logging.stackdriverPath"),
	)
}
