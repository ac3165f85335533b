package cli

import (
	"net/url"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// serverFlags is where the options of the server go.
type serverFlags struct {
	cfg         server.Config
	log         telemetry.LogConfig
	config      string
	writeConfig bool
	sshOptions  []string
	types       []string
	ignored     time.Duration
	telemetry   bool
	later       []*option
}

// under puts options under one heading of the help.
func under(topic string, options ...*option) []*option {
	for _, o := range options {
		o.topic = topic
		o.local = true
	}
	return options
}

// serverOptions declares every option of the server: first those it acts on,
// then those of later rooms.
func (a *app) serverOptions(f *serverFlags) []*option {
	var all []*option
	all = append(all, networkOptions(&f.cfg)...)
	all = append(all, tlsOptions(&f.cfg)...)
	all = append(all, a.databaseOptions(&f.cfg)...)
	all = append(all, provisioningOptions(f)...)
	all = append(all, sessionOptions(&f.cfg)...)
	all = append(all, observabilityOptions(f)...)
	all = append(all, under("Workspaces",
		boolean(&f.cfg.AllowWorkspaceRenames, "allow-workspace-renames", "Let workspaces be renamed, which may lose data where a template names things after them.").env("CODER_ALLOW_WORKSPACE_RENAMES").yaml("allowWorkspaceRenames").def("false"),
		boolean(&f.cfg.NoOwnerWorkspaceAccess, "disable-owner-workspace-access", "Keep owners out of others' workspaces.").env("CODER_DISABLE_OWNER_WORKSPACE_ACCESS").yaml("disableOwnerWorkspaceAccess"),
		str(&f.cfg.HostnameSuffix, "workspace-hostname-suffix", "Last part of the host names of workspaces in SSH configurations.").env("CODER_WORKSPACE_HOSTNAME_SUFFIX").yaml("client.workspaceHostnameSuffix").def("coder"),
		list(&f.sshOptions, "ssh-config-options", "Options for everybody's SSH configuration, as Key=value.").env("CODER_SSH_CONFIG_OPTIONS").yaml("client.sshConfigOptions"),
		str(&f.cfg.SSHKeyAlgorithm, "ssh-keygen-algorithm", "Kind of users' git keys: ed25519, ecdsa or rsa4096.").env("CODER_SSH_KEYGEN_ALGORITHM").yaml("sshKeygenAlgorithm").def("ed25519"),
	)...)
	all = append(all, under("Other",
		path(&f.config, a.home(), "config", "YAML file with options; flags and the environment win over it.").short("c").env("CODER_CONFIG_PATH").kind("yaml-config-path"),
		boolean(&f.writeConfig, "write-config", "Print the options as YAML for --config, and exit."),
		str(&f.cfg.UpgradeMessage, "cli-upgrade-message", "What to tell people whose program is of another version.").env("CODER_CLI_UPGRADE_MESSAGE").yaml("client.cliUpgradeMessage"),
		boolean(&f.telemetry, "telemetry", "Accepted and without effect: nothing is reported to anybody.").env("CODER_TELEMETRY_ENABLE").yaml("telemetry.enable").def("true"),
	)...)
	for _, t := range laterOptions() {
		for _, r := range t.rows {
			o := r.option()
			f.later = append(f.later, o)
			all = append(all, under(t.name, o)...)
		}
	}
	return all
}

func networkOptions(c *server.Config) []*option {
	return under("Networking",
		link(&c.AccessURL, "access-url", "URL at which people and workspaces reach the server; the first address otherwise.").env("CODER_ACCESS_URL").yaml("networking.accessURL"),
		str(&c.WildcardAccessURL, "wildcard-access-url", "Host names of apps, such as *.apps.example.com.").env("CODER_WILDCARD_ACCESS_URL").yaml("networking.wildcardAccessURL"),
		boolean(&c.RedirectToAccessURL, "redirect-to-access-url", "Send requests to other hosts to the access URL.").env("CODER_REDIRECT_TO_ACCESS_URL").yaml("networking.redirectToAccessURL"),
		str(&c.HTTPAddress, "http-address", "Address to answer HTTP at; \"\" for not at all.").env("CODER_HTTP_ADDRESS").yaml("networking.http.httpAddress").def("127.0.0.1:3000"),
		boolean(&c.DisableDirect, "block-direct-connections", "Let workspaces be reached through the relay only.").env("CODER_BLOCK_DIRECT").yaml("networking.derp.blockDirect"),
		list(&c.ProxyTrustedHeaders, "proxy-trusted-headers", "Headers to take a client's address from.").env("CODER_PROXY_TRUSTED_HEADERS").yaml("networking.proxyTrustedHeaders"),
		list(&c.ProxyTrustedOrigins, "proxy-trusted-origins", "Networks of proxies to take those headers from.").env("CODER_PROXY_TRUSTED_ORIGINS").yaml("networking.proxyTrustedOrigins"),
		list(&c.AdditionalCSP, "additional-csp-policy", "Directives to add to the Content-Security-Policy.").env("CODER_ADDITIONAL_CSP_POLICY").yaml("networking.http.additionalCSPPolicy"),
		integer(&c.StrictTransportSecurity, "strict-transport-security", "Seconds for which browsers shall use HTTPS only; 0 does not say so.").env("CODER_STRICT_TRANSPORT_SECURITY").yaml("networking.tls.strictTransportSecurity").def("0"),
		list(&c.StrictTransportOptions, "strict-transport-security-options", "Further directives of that header: includeSubDomains, preload.").env("CODER_STRICT_TRANSPORT_SECURITY_OPTIONS").yaml("networking.tls.strictTransportSecurityOptions"),
	)
}

func tlsOptions(c *server.Config) []*option {
	return under("TLS",
		boolean(&c.TLS.Enable, "tls-enable", "Answer HTTPS.").env("CODER_TLS_ENABLE").yaml("networking.tls.enable"),
		hostport(&c.TLS.Address, "tls-address", "Address to answer HTTPS at.").env("CODER_TLS_ADDRESS").yaml("networking.tls.address").def("127.0.0.1:3443"),
		list(&c.TLS.CertFiles, "tls-cert-file", "Certificates, chosen by the name that a client asks for.").env("CODER_TLS_CERT_FILE").yaml("networking.tls.certFiles"),
		list(&c.TLS.KeyFiles, "tls-key-file", "Keys of the certificates, in the same order.").env("CODER_TLS_KEY_FILE").yaml("networking.tls.keyFiles"),
		str(&c.TLS.ClientCAFile, "tls-client-ca-file", "Certificates of authorities to check clients with.").env("CODER_TLS_CLIENT_CA_FILE").yaml("networking.tls.clientCAFile"),
		str(&c.TLS.ClientAuth, "tls-client-auth", "Whether clients need a certificate: none, request, require-any, verify-if-given or require-and-verify.").env("CODER_TLS_CLIENT_AUTH").yaml("networking.tls.clientAuth").def("none"),
		str(&c.TLS.MinVersion, "tls-min-version", "Oldest version to speak: tls10, tls11, tls12 or tls13.").env("CODER_TLS_MIN_VERSION").yaml("networking.tls.minVersion").def("tls12"),
	)
}

func (a *app) databaseOptions(c *server.Config) []*option {
	return under("Database",
		str(&c.PostgresURL, "postgres-url", "PostgreSQL to keep everything in; one of its own is started otherwise.").env("CODER_PG_CONNECTION_URL"),
		integer(&c.PostgresMaxOpen, "postgres-conn-max-open", "How many connections there may be.").env("CODER_PG_CONN_MAX_OPEN").yaml("pgConnMaxOpen").def("10"),
		str(&c.PostgresMaxIdle, "postgres-conn-max-idle", "How many of them are kept; auto for a third.").env("CODER_PG_CONN_MAX_IDLE").yaml("pgConnMaxIdle").def("auto"),
		path(&c.CacheDir, a.home(), "cache-dir", "Directory of what can be fetched or made again.").env("CODER_CACHE_DIRECTORY").yaml("cacheDir").def("~/.cache/coder"),
		path(&c.PostgresBinDir, a.home(), "postgres-bin-dir", "Directory of PostgreSQL's programs, for the database of its own.").env("CODER_POSTGRES_BIN_DIR").hide(),
		path(&c.BinDir, a.home(), "binary-dir", "Directory of programs for other systems, named coder-<os>-<arch>.").env("CODER_BINARY_DIR").hide(),
	)
}

func provisioningOptions(f *serverFlags) []*option {
	c := &f.cfg
	return under("Provisioning",
		integer(&c.ProvisionerDaemons, "provisioner-daemons", "How many provisioners to run, each for one build at a time; 0 for none.").env("CODER_PROVISIONER_DAEMONS").yaml("provisioning.daemons").def("3"),
		str(&c.ProvisionerDaemonPSK, "provisioner-daemon-psk", "Secret that external provisioners of all organizations may sign in with.").env("CODER_PROVISIONER_DAEMON_PSK"),
		duration(&c.ForceCancelInterval, "provisioner-force-cancel-interval", "How long a canceled build may take to end by itself.").env("CODER_PROVISIONER_FORCE_CANCEL_INTERVAL").yaml("provisioning.forceCancelInterval").def("10m0s"),
		duration(&f.ignored, "provisioner-daemon-poll-interval", "Accepted and without effect: jobs are handed out at once.").env("CODER_PROVISIONER_DAEMON_POLL_INTERVAL").yaml("provisioning.daemonPollInterval").def("1s"),
		duration(&f.ignored, "provisioner-daemon-poll-jitter", "Accepted and without effect: jobs are handed out at once.").env("CODER_PROVISIONER_DAEMON_POLL_JITTER").yaml("provisioning.daemonPollJitter").def("100ms"),
		boolean(&c.TerraformDebug, "enable-terraform-debug-mode", "Let builds ask for Terraform's debug log.").env("CODER_ENABLE_TERRAFORM_DEBUG_MODE").yaml("introspection.logging.enableTerraformDebugMode").def("false"),
		list(&f.types, "provisioner-types", "Tools of the built-in provisioners: terraform, echo.").env("CODER_PROVISIONER_TYPES").def("terraform").hide(),
	)
}

func sessionOptions(c *server.Config) []*option {
	s := &c.Session
	return under("Sessions",
		duration(&s.Duration, "session-duration", "How long a session lasts after its last use.").env("CODER_SESSION_DURATION").yaml("networking.http.sessionDuration").def("24h0m0s"),
		boolean(&s.DisableRefresh, "disable-session-expiry-refresh", "Let a session end that long after its start, used or not.").env("CODER_DISABLE_SESSION_EXPIRY_REFRESH").yaml("networking.http.disableSessionExpiryRefresh"),
		boolean(&s.DisablePasswordAuth, "disable-password-auth", "Let nobody but owners sign in with a password.").env("CODER_DISABLE_PASSWORD_AUTH").yaml("networking.http.disablePasswordAuth"),
		duration(&s.MaxTokenLifetime, "max-token-lifetime", "How long a token may live at most.").env("CODER_MAX_TOKEN_LIFETIME").yaml("networking.http.maxTokenLifetime").def("876600h0m0s"),
		duration(&s.MaxAdminLifetime, "max-admin-token-lifetime", "How long a token of an owner may live at most.").env("CODER_MAX_ADMIN_TOKEN_LIFETIME").yaml("networking.http.maxAdminTokenLifetime").def("168h0m0s"),
		duration(&s.DefaultTokenLifetime, "default-token-lifetime", "How long a token lives when nothing else is asked for.").env("CODER_DEFAULT_TOKEN_LIFETIME").yaml("defaultTokenLifetime").def("168h0m0s"),
		boolean(&c.Cookies.Secure, "secure-auth-cookie", "Let browsers send the session over HTTPS only.").env("CODER_SECURE_AUTH_COOKIE").yaml("networking.secureAuthCookie"),
		choice(&c.Cookies.SameSite, "samesite-auth-cookie", "Whether browsers send the session along from other sites.", "lax", "none").env("CODER_SAMESITE_AUTH_COOKIE").yaml("networking.sameSiteAuthCookie").def("lax"),
	)
}

func observabilityOptions(f *serverFlags) []*option {
	c := &f.cfg
	return under("Observability",
		boolean(&c.PrometheusEnable, "prometheus-enable", "Show metrics.").env("CODER_PROMETHEUS_ENABLE").yaml("introspection.prometheus.enable"),
		hostport(&c.PrometheusAddress, "prometheus-address", "Address to show them at.").env("CODER_PROMETHEUS_ADDRESS").yaml("introspection.prometheus.address").def("127.0.0.1:2112"),
		boolean(&c.PprofEnable, "pprof-enable", "Show profiles.").env("CODER_PPROF_ENABLE").yaml("introspection.pprof.enable"),
		hostport(&c.PprofAddress, "pprof-address", "Address to show them at.").env("CODER_PPROF_ADDRESS").yaml("introspection.pprof.address").def("127.0.0.1:6060"),
		list(&f.log.Filter, "log-filter", "Let debug lines through of parts whose names match; .* for all.").short("l").env("CODER_LOG_FILTER").yaml("introspection.logging.filter"),
		str(&f.log.Human, "log-human", "File for the log as text; \"\" for none.").env("CODER_LOGGING_HUMAN").yaml("introspection.logging.humanPath").def("/dev/stderr"),
		str(&f.log.JSON, "log-json", "File for the log as JSON.").env("CODER_LOGGING_JSON").yaml("introspection.logging.jsonPath"),
		str(&f.log.Stackdriver, "log-stackdriver", "File for the log as Google Cloud reads it.").env("CODER_LOGGING_STACKDRIVER").yaml("introspection.logging.stackdriverPath"),
	)
}

// option makes the option of a row, whose value is only checked and shown.
func (r row) option() *option {
	var s string
	var b bool
	var n int
	var d time.Duration
	var u *url.URL
	var l []string
	var o *option
	switch r.kind {
	case "bool":
		o = boolean(&b, r.flag, r.text)
	case "int":
		o = integer(&n, r.flag, r.text)
	case "duration":
		o = duration(&d, r.flag, r.text)
	case "url":
		o = link(&u, r.flag, r.text)
	case "string-array":
		o = list(&l, r.flag, r.text)
	case "regexp":
		o = pattern(&s, r.flag, r.text)
	case "password|awsiamrds":
		o = choice(&s, r.flag, r.text, "password", "awsiamrds")
	case "struct[map[string]string]":
		o = structure[map[string]string](&s, "map[string]string", r.flag, r.text)
	case "struct[map[string][]string]":
		o = structure[map[string][]string](&s, "map[string][]string", r.flag, r.text)
	case "struct[[]codersdk.LinkConfig]":
		o = structure[[]map[string]string](&s, "[]codersdk.LinkConfig", r.flag, r.text)
	default:
		o = str(&s, r.flag, r.text)
	}
	return o.env(r.env).yaml(r.yaml).def(r.initial)
}
