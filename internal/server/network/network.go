// Package network groups how the server is reached: its addresses, the names of
// apps, the headers around every answer, STUN, and workspace proxies.
package network

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
)

// Config describes the addresses of the server.
type Config struct {
	DrainPeriod time.Duration // of a stop, in which /healthz is not ready and requests are served; 0: none
	HTTPAddress string        // of plain HTTP; "" turns it off
	TLS         listen.TLS
	// AccessURL is the server as agents and browsers know it; nil: the first
	// listener's address.
	AccessURL           *url.URL
	WildcardAccessURL   string // host names of apps, such as *.apps.example.com
	RedirectToAccessURL bool
	TrustedHeaders      []string // that a client's address is read from
	TrustedOrigins      []string // networks of the proxies that may set them

	BrowserOnly         bool          // workspaces are reached through the browser only
	DisableDirect       bool          // tunnels go through the relay only
	RelayURL            *url.URL      // where other replicas reach this one; nil: nowhere
	STUNServers         []string      // host:port, beside this server; "disable" for none
	SleepMiB            int           // memory of an agent for tunnels whose clients are away, in MiB
	SleepTime           time.Duration // for which such a tunnel is kept; 0: no limit
	ProxyHealthInterval time.Duration // between checks of workspace proxies; 0: a minute

	StrictTransportSecurity int // seconds; 0 sends no header
	StrictTransportOptions  []string
	AdditionalCSP           []string
	AllowCORS               bool // pages of any origin may call the API with a token
	Cookies                 Cookies
}

// Cookies describes session cookies.
type Cookies struct {
	Secure   bool
	SameSite string // lax or none; "" is lax
}

// Check refuses what contradicts itself, before anything is started.
func (c Config) Check() error {
	switch {
	case c.AccessURL != nil && !isHTTP(c.AccessURL):
		return codersdk.Errorf(codersdk.CodeInvalid, "--access-url must be like https://coder.example.com, got %q", c.AccessURL)
	case c.Cookies.SameSite != "" && c.Cookies.SameSite != "lax" && c.Cookies.SameSite != "none":
		return codersdk.Errorf(codersdk.CodeInvalid, "--samesite-auth-cookie must be lax or none, got %q", c.Cookies.SameSite)
	case c.Cookies.SameSite == "none" && !c.Cookies.Secure:
		return codersdk.Errorf(codersdk.CodeInvalid,
			"--samesite-auth-cookie none needs --secure-auth-cookie: browsers drop such cookies otherwise")
	case c.RelayURL != nil && !isHTTP(c.RelayURL):
		return codersdk.Errorf(codersdk.CodeInvalid, "--derp-server-relay-url must be like http://10.0.0.1:3000, got %q", c.RelayURL)
	}
	if c.SleepMiB < 0 || c.SleepMiB > 1<<20 {
		return codersdk.Errorf(codersdk.CodeInvalid, "--sleeping-session-memory must be at most 1048576 (MiB) and not negative, got %d", c.SleepMiB)
	}
	if c.SleepTime < 0 || c.SleepTime > 0 && c.SleepTime < minSleepTime {
		return codersdk.Errorf(codersdk.CodeInvalid, "--sleeping-session-limit must be 0 (no limit) or at least %s, got %s", minSleepTime, c.SleepTime)
	}
	for _, address := range c.otherSTUNServers() {
		if _, _, err := net.SplitHostPort(address); err != nil {
			return codersdk.Errorf(codersdk.CodeInvalid,
				"--derp-server-stun-addresses: %q is not host:port, such as stun.example.com:3478", address)
		}
	}
	return c.TLS.Check(c.HTTPAddress)
}

// minSleepTime is the least limit of the time for which sessions are kept: shorter ones would
// end sessions at the restart of a server.
const minSleepTime = 10 * time.Second

// SleepMemory returns the memory of an agent for tunnels whose clients are away, in bytes.
func (c Config) SleepMemory() uint64 { return uint64(c.SleepMiB) << 20 }

func isHTTP(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

// Relay returns the address where other replicas reach this one, "" for nowhere.
func (c Config) Relay() string {
	if c.RelayURL == nil {
		return ""
	}
	return c.RelayURL.String()
}

// otherSTUNServers returns the STUN servers beside this server.
func (c Config) otherSTUNServers() []string {
	if slices.Contains(c.STUNServers, "disable") {
		return nil
	}
	return c.STUNServers
}

// Redirect sends browsers that came by another host name to the access URL, if
// the configuration asks for it. Health checks, programs and the API are served
// under every name.
func (c Config) Redirect(accessURL *url.URL, isProgram func(path string) bool, next http.Handler) http.Handler {
	if !c.RedirectToAccessURL {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == accessURL.Host || r.Method != http.MethodGet || isProgram(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		to := url.URL{Scheme: accessURL.Scheme, Host: accessURL.Host, Path: r.URL.Path, RawQuery: r.URL.RawQuery}
		http.Redirect(w, r, to.String(), http.StatusTemporaryRedirect)
	})
}
