package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
	"github.com/seed-2a7f8fe7/coder/internal/wsproxy"
)

// ProxyServerCommand runs a workspace proxy.
func ProxyServerCommand(a *app.Run) *app.Command {
	var c wsproxy.Config
	var log telemetry.LogConfig
	return &app.Command{
		Name: "server", Max: 0, Signals: true,
		Short: "Run a workspace proxy.",
		Long: "It serves apps, ports and terminals of workspaces to people near it, and asks the server of which it is a proxy " +
			"who may open what. It needs the token that coder wsproxy create printed, and no database. While the server does not " +
			"answer it tries again. Stop it with Ctrl-C; a second one stops it at once.",
		Examples: []app.Example{
			{Text: "Make a proxy known, and run it", Line: "CODER_PROXY_SESSION_TOKEN=$(coder wsproxy create --name sydney --only-token) coder wsproxy server --primary-access-url https://coder.example.com --access-url https://sydney.coder.example.com --http-address 0.0.0.0:3001"},
		},
		Options: proxyServerOptions(&c, &log),
		Run: func(ctx context.Context, _ []string) (err error) {
			logs, closeLog, err := logger(a, log)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, closeLog()) }()
			c.Version, c.Log = coder.Version(), logs
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
	all := under("Workspace proxy",
		option.URL(&c.Primary, "primary-access-url", "Access URL of the server of which it is a proxy.").Env("CODER_PRIMARY_ACCESS_URL"),
		option.String(&c.Token, "proxy-session-token", "Token of the proxy; better given in the environment, where others do not see it.").Env("CODER_PROXY_SESSION_TOKEN"),
		option.Bool(&c.RelayOnly, "derp-only", "Serve no apps and no terminals.").Env("CODER_DERP_ONLY"),
	)
	all = append(all, under("Networking",
		option.URL(&c.AccessURL, "access-url", "URL at which people and the server reach the proxy; the first address otherwise.").Env("CODER_ACCESS_URL"),
		option.String(&c.WildcardAccessURL, "wildcard-access-url", "Host names of apps at the proxy, such as *.sydney.example.com.").Env("CODER_WILDCARD_ACCESS_URL"),
		option.String(&c.HTTPAddress, "http-address", "Address to answer HTTP at; \"\" for not at all.").Env("CODER_HTTP_ADDRESS").Def("127.0.0.1:3000"),
		option.Bool(&c.DisableDirect, "block-direct-connections", "Reach workspaces through the server's relay only.").Env("CODER_BLOCK_DIRECT"),
		option.List(&c.ProxyTrustedHeaders, "proxy-trusted-headers", "Headers to take a client's address from.").Env("CODER_PROXY_TRUSTED_HEADERS"),
		option.List(&c.ProxyTrustedOrigins, "proxy-trusted-origins", "Networks of reverse proxies to take those headers from.").Env("CODER_PROXY_TRUSTED_ORIGINS"),
		option.Bool(&c.SecureCookies, "secure-auth-cookie", "Let browsers send sessions over HTTPS only.").Env("CODER_SECURE_AUTH_COOKIE"),
		option.Int(&c.StrictTransportSecurity, "strict-transport-security", "Seconds for which browsers shall use HTTPS only; 0 does not say so.").Env("CODER_STRICT_TRANSPORT_SECURITY").Def("0"),
		option.List(&c.StrictTransportOptions, "strict-transport-security-options", "Further directives of that header: includeSubDomains, preload.").Env("CODER_STRICT_TRANSPORT_SECURITY_OPTIONS"),
		option.Bool(&c.NoPaths, "disable-path-apps", "Offer no apps on the host of the access URL itself.").Env("CODER_DISABLE_PATH_APPS"),
	)...)
	all = append(all, tlsOptions(&c.TLS)...)
	all = append(all, under("Observability",
		option.Bool(&c.PrometheusEnable, "prometheus-enable", "Show metrics.").Env("CODER_PROMETHEUS_ENABLE"),
		option.Address(&c.PrometheusAddress, "prometheus-address", "Address to show them at.").Env("CODER_PROMETHEUS_ADDRESS").Def("127.0.0.1:2112"),
		option.Bool(&c.PprofEnable, "pprof-enable", "Show profiles.").Env("CODER_PPROF_ENABLE"),
		option.Address(&c.PprofAddress, "pprof-address", "Address to show them at.").Env("CODER_PPROF_ADDRESS").Def("127.0.0.1:6060"),
	)...)
	return append(all, logOptions(log)...)
}
