package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/server/network"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
	"github.com/seed-2a7f8fe7/coder/internal/wsproxy"
)

// ProxyServerCommand returns the command that runs a workspace proxy.
func ProxyServerCommand(a *command.Run) *command.Command {
	var c wsproxy.Config
	var log telemetry.LogConfig
	return &command.Command{
		Name: "server", Max: 0, Signals: true,
		Short: "Run a workspace proxy",
		Long: "Serves workspace apps, ports and terminals to nearby users, and relays their SSH sessions and " +
			"port forwards; the primary server authorizes every access. It needs the token that 'coder wsproxy create' printed, and no database. While the primary " +
			"server is unreachable the proxy retries. Stop it with Ctrl-C; press Ctrl-C again to stop " +
			"immediately.",
		Examples: []command.Example{
			{
				Text: "Create a proxy and run it",
				Line: "CODER_PROXY_SESSION_TOKEN=$(coder wsproxy create --name sydney --only-token) " +
					"coder wsproxy server --primary-access-url https://coder.example.com --access-url https://sydney.coder.example.com --http-address 0.0.0.0:3001",
			},
		},
		Options: proxyServerOptions(&c, &log),
		Run: func(ctx context.Context, _ []string) (err error) {
			logs, closeLog, err := logger(a, log)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, closeLog()) }()
			c.Version, c.Log = codersdk.Version(), logs
			p, err := wsproxy.New(c)
			if err != nil {
				return err
			}
			return run(ctx, a, p, logs, func() string {
				return fmt.Sprintf("The workspace proxy is ready at %s, for the server at %s\n", p.AccessURL(), c.Primary)
			})
		},
	}
}

func proxyServerOptions(c *wsproxy.Config, log *telemetry.LogConfig) []*option.Option {
	all := option.Under("Workspace proxy",
		option.URL(&c.Primary, "primary-access-url", "Access URL of the primary server").Env("CODER_PRIMARY_ACCESS_URL"),
		option.String(&c.Token, "proxy-session-token", "Session token of the proxy; prefer the environment variable, which other users of the machine "+
			"cannot see").Env("CODER_PROXY_SESSION_TOKEN"),
		option.Bool(&c.RelayOnly, "derp-only", "Relay SSH and port forwards only; serve neither apps nor terminals").Env("CODER_DERP_ONLY"),
	)
	all = append(all, option.Under(
		"Networking",
		option.URL(&c.AccessURL, "access-url", "External URL of the proxy for users and the primary server (default: the first address)").Env("CODER_ACCESS_URL"),
		option.String(&c.WildcardAccessURL, "wildcard-access-url", "Wildcard hostname of apps at the proxy, such as *.sydney.example.com").
			Env("CODER_WILDCARD_ACCESS_URL"),
		option.String(&c.HTTPAddress, "http-address", "HTTP listen address; \"\" disables").Env("CODER_HTTP_ADDRESS").Def("127.0.0.1:3000"),
		option.Bool(&c.DisableDirect, "block-direct-connections", "Connect to workspaces through the server's relay only").Env("CODER_BLOCK_DIRECT"),
		option.List(&c.ProxyTrustedHeaders, "proxy-trusted-headers", "Headers that contain the client address").Env("CODER_PROXY_TRUSTED_HEADERS"),
		option.List(&c.ProxyTrustedOrigins, "proxy-trusted-origins", "Networks of the reverse proxies that may set these headers").Env("CODER_PROXY_TRUSTED_ORIGINS"),
		option.Bool(&c.SecureCookies, "secure-auth-cookie", "Set the Secure attribute of session cookies").Env("CODER_SECURE_AUTH_COOKIE"),
		option.Int(&c.StrictTransportSecurity, "strict-transport-security", "Max-age of the Strict-Transport-Security header, in seconds; 0 disables it").
			Env("CODER_STRICT_TRANSPORT_SECURITY").
			Def("0"),
		option.List(&c.StrictTransportOptions, "strict-transport-security-options",
			"Additional directives of the Strict-Transport-Security header: includeSubDomains, preload").
			Env("CODER_STRICT_TRANSPORT_SECURITY_OPTIONS"),
		option.Bool(&c.NoPaths, "disable-path-apps", "Disable path-based apps").Env("CODER_DISABLE_PATH_APPS"),
	)...)
	all = append(all, network.TLSOptions(&c.TLS)...)
	all = append(all, option.Under("Observability",
		option.Bool(&c.PrometheusEnable, "prometheus-enable", "Serve Prometheus metrics").Env("CODER_PROMETHEUS_ENABLE"),
		option.Address(&c.PrometheusAddress, "prometheus-address", "Address of the Prometheus metrics").Env("CODER_PROMETHEUS_ADDRESS").Def("127.0.0.1:2112"),
		option.Bool(&c.PprofEnable, "pprof-enable", "Serve pprof profiles").Env("CODER_PPROF_ENABLE"),
		option.Address(&c.PprofAddress, "pprof-address", "Address of the pprof profiles").Env("CODER_PPROF_ADDRESS").Def("127.0.0.1:6060"),
	)...)
	return append(all, logOptions(log)...)
}
