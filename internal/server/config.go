// Package server assembles the control plane: the database, the use cases, the
// edges, the built-in provisioners, and the listeners, started in order and
// stopped in the opposite one. It holds no rule. (CP-01)
package server

import (
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/calendar"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/login"
)

// Config is what a server is told. The zero value of a field means its
// default; the command line has the documented defaults. Rows of the
// reference: CP-02, CP-04, CP-07, CP-17, CP-19, AU-03, AU-04, PRV-01.
type Config struct {
	Version string
	Log     *slog.Logger // required

	// HTTPAddress is where plain HTTP is answered; "" turns it off.
	HTTPAddress string
	TLS         TLS
	// AccessURL is the server as agents and browsers know it; nil: the first
	// listener's address.
	AccessURL           *url.URL
	WildcardAccessURL   string
	RedirectToAccessURL bool

	// PostgresURL is the database; "" starts one under ConfigDir.
	PostgresURL      string
	PostgresMaxOpen  int      // connections, at least 1
	PostgresMaxIdle  string   // a number or "auto"
	PostgresBinDir   string   // PostgreSQL's programs for the built-in database; "" looks for them
	ConfigDir        string   // required
	CacheDir         string   // required
	BinDir           string   // cross-built coder binaries, named coder-<os>-<arch>[.exe]; "" looks in CacheDir/bin
	SSHKeyAlgorithm  string   // of users' git keys: ed25519, ecdsa, rsa4096
	UpgradeMessage   string   // told to clients of another version
	TerraformDebug   bool     // builds may ask for debug logs
	DisableDirect    bool     // tunnels go through the relay only
	RelayURL         *url.URL // where other replicas reach this one; nil: nowhere
	STUNServers      []string // host:port, beside this server; "disable" for none
	HostnameSuffix   string   // of workspaces in SSH configurations, "coder"
	HostnamePrefix   string
	SSHConfigOptions map[string]string

	// ProvisionerDaemons is how many built-in provisioners run; 0 none.
	ProvisionerDaemons      int
	ProvisionerDaemonPSK    string
	OperatorToken           string        // of the operator's own account; "": none. See package steward
	ProvisionerEngines      []string      // engines of the built-in ones; nil: terraform
	ForceCancelInterval     time.Duration // 10 minutes
	AllowWorkspaceRenames   bool
	NoOwnerWorkspaceAccess  bool // owners may not enter workspaces of others
	NoWorkspaceSharing      bool
	Prebuilds               Prebuilds
	Quiet                   calendar.Quiet // when workspaces stop that have to stop once
	AutobuildPollInterval   time.Duration  // how often it is looked what workspaces are to do by themselves; 0 means a minute
	Session                 Session
	Mail                    Mail         // without a smarthost: no e-mail is sent
	EncryptionKeys          []string     // 32 bytes in base64, the newest first; none: tokens of others are kept as they are
	OIDC                    login.OIDC   // without an issuer: off
	GitHub                  login.GitHub // without a client id: off
	TermsOfServiceURL       string
	Apps                    Apps
	Cookies                 Cookies
	ProxyTrustedHeaders     []string
	ProxyTrustedOrigins     []string
	StrictTransportSecurity int // seconds; 0 sends no header
	StrictTransportOptions  []string
	AdditionalCSP           []string

	// Settings is how the server was configured, as it is shown to people.
	Settings        coder.DeploymentConfig
	DocsURL         *url.URL // of the documentation that pages link to
	SupportLinks    []coder.LinkConfig
	HealthRefresh   time.Duration // how long a health report holds, 10 minutes
	HealthThreshold time.Duration // what the database may take to answer, 15 ms
	// ProxyHealthInterval is how often workspace proxies are checked; 0 means a minute.
	ProxyHealthInterval time.Duration

	// APIKeysRetention is how long expired tokens are kept; 0 means 7 days.
	APIKeysRetention time.Duration
	// ConnectionLogsRetention is how long it is kept who was connected where; 0
	// for ever.
	ConnectionLogsRetention time.Duration

	PrometheusEnable  bool
	PrometheusAddress string
	// BrowserOnly lets workspaces be reached through the browser alone.
	BrowserOnly bool
	// AgentStats adds the metrics that agents report, told apart by the labels of
	// AgentStatsBy.
	AgentStats   bool
	AgentStatsBy []string
	PprofEnable  bool
	PprofAddress string
}

// TLS says how HTTPS is answered.
type TLS = listen.TLS

// Session says how long people stay logged in.
type Session struct {
	Duration             time.Duration // 24 h
	DisableRefresh       bool
	DisablePasswordAuth  bool
	DefaultTokenLifetime time.Duration // 168 h
	MaxTokenLifetime     time.Duration // 876600 h
	MaxAdminLifetime     time.Duration // 168 h
}

// Cookies says how session cookies are sent.
type Cookies struct {
	Secure   bool
	SameSite string // lax or none
}

// check refuses what contradicts itself, before anything is started.
func (c *Config) check() error {
	switch {
	case c.Log == nil || c.ConfigDir == "" || c.CacheDir == "":
		return coder.Errorf(coder.CodeInternal, "server: Log, ConfigDir and CacheDir are required")
	case c.ProvisionerDaemons < 0:
		return coder.Errorf(coder.CodeInvalid, "--provisioner-daemons cannot be negative")
	case c.AccessURL != nil && (c.AccessURL.Scheme != "http" && c.AccessURL.Scheme != "https" || c.AccessURL.Host == ""):
		return coder.Errorf(coder.CodeInvalid, "--access-url must be like https://coder.example.com, got %q", c.AccessURL)
	case c.Cookies.SameSite != "" && c.Cookies.SameSite != "lax" && c.Cookies.SameSite != "none":
		return coder.Errorf(coder.CodeInvalid, "--samesite-auth-cookie must be lax or none, got %q", c.Cookies.SameSite)
	}
	if c.Cookies.SameSite == "none" && !c.Cookies.Secure {
		return coder.Errorf(coder.CodeInvalid, "--samesite-auth-cookie none needs --secure-auth-cookie: browsers drop such cookies otherwise")
	}
	if c.RelayURL != nil && (c.RelayURL.Scheme != "http" && c.RelayURL.Scheme != "https" || c.RelayURL.Host == "") {
		return coder.Errorf(coder.CodeInvalid, "--derp-server-relay-url must be like http://10.0.0.1:3000, got %q", c.RelayURL)
	}
	for _, a := range c.stun() {
		if _, _, err := net.SplitHostPort(a); err != nil {
			return coder.Errorf(coder.CodeInvalid, "--derp-server-stun-addresses: %q is not host:port, such as stun.example.com:3478", a)
		}
	}
	if err := c.TLS.Check(c.HTTPAddress); err != nil {
		return err
	}
	if err := listen.Addresses(c.PrometheusAddress, c.PprofAddress); err != nil {
		return err
	}
	if _, err := calendar.ParseDaily(c.Quiet.Default); c.Quiet.Default != "" && err != nil {
		return coder.Errorf(coder.CodeInvalid, "--default-quiet-hours-schedule must be a zone, a minute, an hour and three stars, such as CRON_TZ=UTC 0 0 * * *, got %q", c.Quiet.Default)
	}
	if _, err := c.maxIdle(); err != nil {
		return err
	}
	return c.Prebuilds.check()
}

// stun is the STUN servers of others.
func (c *Config) stun() []string {
	if slices.Contains(c.STUNServers, "disable") {
		return nil
	}
	return c.STUNServers
}

// maxIdle is how many idle connections are kept; 0 lets the store choose a third of all.
func (c *Config) maxIdle() (int, error) {
	if c.PostgresMaxIdle == "" || c.PostgresMaxIdle == "auto" {
		return 0, nil
	}
	n, err := strconv.Atoi(c.PostgresMaxIdle)
	if err != nil || n < 0 {
		return 0, coder.Errorf(coder.CodeInvalid, "--postgres-conn-max-idle must be a number or auto, got %q", c.PostgresMaxIdle)
	}
	return n, nil
}
