package network

import (
	"slices"

	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Options declares the options of the group.
func (c *Config) Options() []*option.Option {
	return slices.Concat(
		option.Under(
			"Networking",
			option.URL(&c.AccessURL, "access-url", "External URL of the server for users and workspaces (default: the first address)").
				Env("CODER_ACCESS_URL").
				YAML("networking.accessURL"),
			option.String(&c.WildcardAccessURL, "wildcard-access-url", "Wildcard hostname of apps, such as *.apps.example.com").
				Env("CODER_WILDCARD_ACCESS_URL").
				YAML("networking.wildcardAccessURL"),
			option.Bool(&c.RedirectToAccessURL, "redirect-to-access-url", "Redirect requests for other hosts to the access URL").
				Env("CODER_REDIRECT_TO_ACCESS_URL").
				YAML("networking.redirectToAccessURL"),
			option.String(&c.HTTPAddress, "http-address", "HTTP listen address; \"\" disables").
				Env("CODER_HTTP_ADDRESS").
				YAML("networking.http.httpAddress").
				Def("127.0.0.1:3000"),
			c.drainOption(),
			option.Bool(&c.BrowserOnly, "browser-only", "Allow connections to workspaces from the browser only").
				Env("CODER_BROWSER_ONLY").
				YAML("networking.browserOnly"),
			option.Bool(&c.DisableDirect, "block-direct-connections", "Disable direct connections to workspaces, so that all use the relay").
				Env("CODER_BLOCK_DIRECT").
				YAML("networking.derp.blockDirect"),
			option.List(&c.STUNServers, "derp-server-stun-addresses", `STUN servers for direct connections, in addition to this server; "disable" for none`).
				Env("CODER_DERP_SERVER_STUN_ADDRESSES").
				YAML("networking.derp.stunAddresses").
				Def("stun.l.google.com:19302,stun1.l.google.com:19302,stun2.l.google.com:19302,stun3.l.google.com:19302,stun4.l.google.com:19302"),
			option.URL(&c.RelayURL, "derp-server-relay-url", "URL at which other replicas of the deployment reach this one").
				Env("CODER_DERP_SERVER_RELAY_URL").
				YAML("networking.derp.relayURL"),
			option.List(&c.TrustedHeaders, "proxy-trusted-headers", "Headers that contain the client address").
				Env("CODER_PROXY_TRUSTED_HEADERS").
				YAML("networking.proxyTrustedHeaders"),
			option.List(&c.TrustedOrigins, "proxy-trusted-origins", "Networks of the proxies that may set these headers").
				Env("CODER_PROXY_TRUSTED_ORIGINS").
				YAML("networking.proxyTrustedOrigins"),
			option.Duration(&c.ProxyHealthInterval, "proxy-health-interval", "Interval between health checks of workspace proxies").
				Env("CODER_PROXY_HEALTH_INTERVAL").
				YAML("networking.http.proxyHealthInterval").
				Def("1m0s"),
			option.Bool(&c.AllowCORS, "dangerous-allow-cors-requests",
				"Allow cross-origin API requests with a token. Session cookies are never accepted from other origins").
				Env("CODER_DANGEROUS_ALLOW_CORS_REQUESTS").
				Hide(),
			option.List(&c.AdditionalCSP, "additional-csp-policy", "Additional Content-Security-Policy directives").
				Env("CODER_ADDITIONAL_CSP_POLICY").
				YAML("networking.http.additionalCSPPolicy"),
			option.Int(&c.StrictTransportSecurity, "strict-transport-security", "Max-age of the Strict-Transport-Security header, in seconds; 0 disables it").
				Env("CODER_STRICT_TRANSPORT_SECURITY").
				YAML("networking.tls.strictTransportSecurity").
				Def("0"),
			option.List(&c.StrictTransportOptions, "strict-transport-security-options",
				"Additional directives of the Strict-Transport-Security header: includeSubDomains, preload").
				Env("CODER_STRICT_TRANSPORT_SECURITY_OPTIONS").
				YAML("networking.tls.strictTransportSecurityOptions"),
		),
		slices.Concat(c.sleepOptions(), TLSOptions(&c.TLS)),
		option.After("terms-of-service-url", option.Under(
			"Sessions",
			option.Bool(&c.Cookies.Secure, "secure-auth-cookie", "Set the Secure attribute of session cookies").
				Env("CODER_SECURE_AUTH_COOKIE").
				YAML("networking.secureAuthCookie"),
			option.Choice(&c.Cookies.SameSite, "samesite-auth-cookie", "SameSite attribute of session cookies", "lax", "none").
				Env("CODER_SAMESITE_AUTH_COOKIE").
				YAML("networking.sameSiteAuthCookie").
				Def("lax"),
		)...),
	)
}

// TLSOptions declares the options of a process that serves HTTPS.
func TLSOptions(c *listen.TLS) []*option.Option {
	return option.Under(
		"TLS",
		option.Bool(&c.Enable, "tls-enable", "Serve HTTPS").Env("CODER_TLS_ENABLE").YAML("networking.tls.enable"),
		option.Address(&c.Address, "tls-address", "HTTPS listen address").Env("CODER_TLS_ADDRESS").YAML("networking.tls.address").Def("127.0.0.1:3443"),
		option.List(&c.CertFiles, "tls-cert-file", "TLS certificates, selected by server name").Env("CODER_TLS_CERT_FILE").YAML("networking.tls.certFiles"),
		option.List(&c.KeyFiles, "tls-key-file", "Private keys of the TLS certificates, in the same order").Env("CODER_TLS_KEY_FILE").YAML("networking.tls.keyFiles"),
		option.String(&c.ClientCAFile, "tls-client-ca-file", "CA certificates for TLS client authentication").
			Env("CODER_TLS_CLIENT_CA_FILE").
			YAML("networking.tls.clientCAFile"),
		option.String(&c.ClientAuth, "tls-client-auth", "TLS client authentication: none, request, require-any, verify-if-given or require-and-verify").
			Env("CODER_TLS_CLIENT_AUTH").
			YAML("networking.tls.clientAuth").
			Def("none"),
		option.String(&c.MinVersion, "tls-min-version", "Minimum TLS version: tls10, tls11, tls12 or tls13").
			Env("CODER_TLS_MIN_VERSION").
			YAML("networking.tls.minVersion").
			Def("tls12"),
		option.List(&c.Ciphers, "tls-ciphers", "Cipher suites for TLS 1.2 and older, by IANA name (default: Go's secure suites)").
			Env("CODER_TLS_CIPHERS").
			YAML("networking.tls.tlsCiphers"),
		option.Bool(&c.AllowInsecureCiphers, "tls-allow-insecure-ciphers", "Allow insecure suites in --tls-ciphers").
			Env("CODER_TLS_ALLOW_INSECURE_CIPHERS").
			YAML("networking.tls.tlsAllowInsecureCiphers").
			Def("false"),
		option.String(&c.ClientCertFile, "tls-client-cert-file", "TLS client certificate for requests to other servers").
			Env("CODER_TLS_CLIENT_CERT_FILE").
			YAML("networking.tls.clientCertFile"),
		option.String(&c.ClientKeyFile, "tls-client-key-file", "Private key of --tls-client-cert-file").
			Env("CODER_TLS_CLIENT_KEY_FILE").
			YAML("networking.tls.clientKeyFile"),
	)
}

// sleepOptions declares the limits for sessions of clients that are away.
func (c *Config) sleepOptions() []*option.Option {
	return option.After("derp-server-relay-url", option.Under(
		"Networking",
		option.Int(&c.SleepMiB, "sleeping-session-memory",
			"Memory in MiB that an agent uses for sessions of clients that sleep or are offline. Beyond it the session that sleeps longest ends").
			Env("CODER_SLEEPING_SESSION_MEMORY").
			YAML("networking.sleepingSessionMemory").
			Def("64"),
		option.Duration(&c.SleepTime, "sleeping-session-limit", "Time for which an agent keeps such a session; 0 means no limit").
			Env("CODER_SLEEPING_SESSION_LIMIT").
			YAML("networking.sleepingSessionLimit").
			Def("0s"),
	)...)
}

func (c *Config) drainOption() *option.Option {
	return option.Duration(&c.DrainPeriod, "drain-period",
		"Time for which a stopping server still serves requests while /healthz is not ready, if other replicas run").
		Env("CODER_DRAIN_PERIOD").
		YAML("networking.drainPeriod").
		Def("5s")
}
