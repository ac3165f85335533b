// Package later lists the options of the server that it accepts and does not
// act on yet.
package later

import (
	"net/url"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

// Row declares an option that a later room of the server will act on. It is
// accepted and checked today; when it is set to something else than its
// default, the server says once that it does not act on it yet.
type Row struct{ Flag, Kind, Env, YAML, Initial, Text string }

// Topic is the later options under one heading of the help.
type Topic struct {
	Name string
	Rows []Row
}

// Options are all such options, by topic. This table is the only list of
// them: a room that begins to act on one moves its line to the options of the server.
func Options() []Topic {
	return []Topic{
		{"TLS", tls()},
		{"Relay", relay()},
		{"Observability", observability()},
		{"Other", other()},
		{"Sessions", sessions()},
		{"Database", database()},
		{"Notifications", notifications()},
		{"AI bridge", aiBridge()},
		{"Retention", retention()},
	}
}

func tls() []Row {
	return []Row{
		{"tls-client-cert-file", "string", "CODER_TLS_CLIENT_CERT_FILE", "networking.tls.clientCertFile", "", "Certificate with which the server signs in to other servers."},
		{"tls-client-key-file", "string", "CODER_TLS_CLIENT_KEY_FILE", "networking.tls.clientKeyFile", "", "Key of --tls-client-cert-file."},
		{"tls-ciphers", "string-array", "CODER_TLS_CIPHERS", "networking.tls.tlsCiphers", "", "Cipher suites to allow; the usual ones otherwise."},
		{"tls-allow-insecure-ciphers", "bool", "CODER_TLS_ALLOW_INSECURE_CIPHERS", "networking.tls.tlsAllowInsecureCiphers", "false", "Allow cipher suites that are known to be weak."},
	}
}

func relay() []Row {
	return []Row{
		{"derp-server-enable", "bool", "CODER_DERP_SERVER_ENABLE", "networking.derp.enable", "true", "Relay connections to workspaces that have no direct path."},
		{"derp-server-region-name", "string", "CODER_DERP_SERVER_REGION_NAME", "networking.derp.regionName", "Coder Embedded Relay", "Name of the server's own relay."},
		{"derp-force-websockets", "bool", "CODER_DERP_FORCE_WEBSOCKETS", "networking.derp.forceWebSockets", "", "Reach relays by WebSocket only."},
		{"derp-config-url", "string", "CODER_DERP_CONFIG_URL", "networking.derp.url", "", "URL of a map of further relays."},
		{"derp-config-path", "string", "CODER_DERP_CONFIG_PATH", "networking.derp.configPath", "", "File with a map of further relays."},
	}
}

func observability() []Row {
	return []Row{
		{"prometheus-collect-db-metrics", "bool", "CODER_PROMETHEUS_COLLECT_DB_METRICS", "introspection.prometheus.collect_db_metrics", "false", "Collect the time that every query takes."},
		{"trace", "bool", "CODER_TRACE_ENABLE", "introspection.tracing.enable", "", "Collect traces."},
		{"trace-honeycomb-api-key", "string", "CODER_TRACE_HONEYCOMB_API_KEY", "", "", "Key to send traces to Honeycomb with."},
		{"trace-logs", "bool", "CODER_TRACE_LOGS", "introspection.tracing.captureLogs", "", "Put log lines into traces."},
	}
}

func other() []Row {
	return []Row{
		{"experiments", "string-array", "CODER_EXPERIMENTS", "experiments", "", "Experiments to turn on, or *."},
		{"update-check", "bool", "CODER_UPDATE_CHECK", "updateCheck", "false", "Ask once a day whether there is a newer version."},
		{"swagger-enable", "bool", "CODER_SWAGGER_ENABLE", "enableSwagger", "", "Show the API's documentation at /swagger."},
		{"web-terminal-renderer", "string", "CODER_WEB_TERMINAL_RENDERER", "client.webTerminalRenderer", "canvas", "How the terminal of the dashboard draws: canvas, webgl or dom."},
		{"hide-ai-tasks", "bool", "CODER_HIDE_AI_TASKS", "client.hideAITasks", "false", "Do not show tasks in the dashboard."},
	}
}

func sessions() []Row {
	return []Row{
		{"default-oauth-refresh-lifetime", "duration", "CODER_DEFAULT_OAUTH_REFRESH_LIFETIME", "defaultOAuthRefreshLifetime", "720h0m0s", "How long a sign-in of an OAuth2 application can be renewed."},
		{"scim-auth-header", "string", "CODER_SCIM_AUTH_HEADER", "", "", "Secret of the identity provider's SCIM client; empty turns SCIM off."},
	}
}

func database() []Row {
	return []Row{
		{"postgres-auth", "password|awsiamrds", "CODER_PG_AUTH", "pgAuth", "password", "How to sign in to the database."},
	}
}

func notifications() []Row {
	return []Row{
		{"notifications-method", "string", "CODER_NOTIFICATIONS_METHOD", "notifications.method", "smtp", "How notifications are sent: smtp, webhook or inbox."},
		{"notifications-dispatch-timeout", "duration", "CODER_NOTIFICATIONS_DISPATCH_TIMEOUT", "notifications.dispatchTimeout", "1m0s", "How long sending one may take."},
		{"notifications-webhook-endpoint", "url", "CODER_NOTIFICATIONS_WEBHOOK_ENDPOINT", "notifications.webhook.endpoint", "", "URL that notifications are posted to."},
		{"notifications-inbox-enabled", "bool", "CODER_NOTIFICATIONS_INBOX_ENABLED", "notifications.inbox.enabled", "true", "Show notifications in the dashboard."},
		{"notifications-max-send-attempts", "int", "CODER_NOTIFICATIONS_MAX_SEND_ATTEMPTS", "notifications.maxSendAttempts", "5", "How often sending is tried."},
	}
}

func aiBridge() []Row {
	return []Row{
		{"aibridge-enabled", "bool", "CODER_AIBRIDGE_ENABLED", "aibridge.enabled", "false", "Run the AI bridge."},
		{"aibridge-openai-base-url", "string", "CODER_AIBRIDGE_OPENAI_BASE_URL", "aibridge.openai_base_url", "https://api.openai.com/v1/", "URL of OpenAI's API."},
		{"aibridge-openai-key", "string", "CODER_AIBRIDGE_OPENAI_KEY", "", "", "Key of OpenAI's API."},
		{"aibridge-anthropic-base-url", "string", "CODER_AIBRIDGE_ANTHROPIC_BASE_URL", "aibridge.anthropic_base_url", "https://api.anthropic.com/", "URL of Anthropic's API."},
		{"aibridge-anthropic-key", "string", "CODER_AIBRIDGE_ANTHROPIC_KEY", "", "", "Key of Anthropic's API."},
		{"aibridge-bedrock-base-url", "string", "CODER_AIBRIDGE_BEDROCK_BASE_URL", "aibridge.bedrock_base_url", "", "URL of Bedrock's API."},
		{"aibridge-bedrock-region", "string", "CODER_AIBRIDGE_BEDROCK_REGION", "aibridge.bedrock_region", "", "Region of Bedrock."},
		{"aibridge-bedrock-access-key", "string", "CODER_AIBRIDGE_BEDROCK_ACCESS_KEY", "", "", "Access key of Bedrock."},
		{"aibridge-bedrock-access-key-secret", "string", "CODER_AIBRIDGE_BEDROCK_ACCESS_KEY_SECRET", "", "", "Secret of the access key."},
		{"aibridge-bedrock-model", "string", "CODER_AIBRIDGE_BEDROCK_MODEL", "aibridge.bedrock_model", "global.anthropic.claude-sonnet-4-5-20250929-v1:0", "Model of Bedrock."},
		{"aibridge-bedrock-small-fastmodel", "string", "CODER_AIBRIDGE_BEDROCK_SMALL_FAST_MODEL", "aibridge.bedrock_small_fast_model", "global.anthropic.claude-haiku-4-5-20251001-v1:0", "Small model of Bedrock."},
		{"aibridge-inject-coder-mcp-tools", "bool", "CODER_AIBRIDGE_INJECT_CODER_MCP_TOOLS", "aibridge.inject_coder_mcp_tools", "false", "Offer the server's own tools to models."},
		{"aibridge-retention", "duration", "CODER_AIBRIDGE_RETENTION", "aibridge.retention", "60d", "How long records of the bridge are kept."},
		{"aibridge-max-concurrency", "int", "CODER_AIBRIDGE_MAX_CONCURRENCY", "aibridge.max_concurrency", "0", "How many requests may run at once; 0 for any number."},
		{"aibridge-rate-limit", "int", "CODER_AIBRIDGE_RATE_LIMIT", "aibridge.rate_limit", "0", "How many requests a second are let through; 0 for any number."},
		{"aibridge-structured-logging", "bool", "CODER_AIBRIDGE_STRUCTURED_LOGGING", "aibridge.structured_logging", "false", "Log what the bridge records."},
		{"aibridge-send-actor-headers", "bool", "CODER_AIBRIDGE_SEND_ACTOR_HEADERS", "aibridge.send_actor_headers", "false", "Tell the provider who asks."},
		{"aibridge-circuit-breaker-enabled", "bool", "CODER_AIBRIDGE_CIRCUIT_BREAKER_ENABLED", "aibridge.circuit_breaker_enabled", "false", "Pause a provider that fails."},
		{"aibridge-proxy-enabled", "bool", "CODER_AIBRIDGE_PROXY_ENABLED", "aibridgeproxy.enabled", "false", "Run the bridge's proxy."},
		{"aibridge-proxy-listen-addr", "string", "CODER_AIBRIDGE_PROXY_LISTEN_ADDR", "aibridgeproxy.listen_addr", ":8888", "Address of the bridge's proxy."},
		{"aibridge-proxy-cert-file", "string", "CODER_AIBRIDGE_PROXY_CERT_FILE", "aibridgeproxy.cert_file", "", "Certificate of the bridge's proxy."},
		{"aibridge-proxy-key-file", "string", "CODER_AIBRIDGE_PROXY_KEY_FILE", "aibridgeproxy.key_file", "", "Key of the bridge's proxy."},
		{"aibridge-proxy-upstream", "string", "CODER_AIBRIDGE_PROXY_UPSTREAM", "aibridgeproxy.upstream_proxy", "", "Proxy that the bridge's proxy goes through."},
		{"aibridge-proxy-upstream-ca", "string", "CODER_AIBRIDGE_PROXY_UPSTREAM_CA", "aibridgeproxy.upstream_proxy_ca", "", "Certificates of authorities that the proxy trusts."},
	}
}

func retention() []Row {
	return []Row{
		{"audit-logs-retention", "duration", "CODER_AUDIT_LOGS_RETENTION", "retention.audit_logs", "0", "How long audit records are kept; 0 for ever."},
		{"api-keys-retention", "duration", "CODER_API_KEYS_RETENTION", "retention.api_keys", "7d", "How long expired tokens are kept."},
		{"workspace-agent-logs-retention", "duration", "CODER_WORKSPACE_AGENT_LOGS_RETENTION", "retention.workspace_agent_logs", "7d", "How long logs of agents are kept."},
	}
}

// Option makes the option of a row, whose value is only checked and shown.
func (r Row) Option() *option.Option {
	var s string
	var b bool
	var n int
	var d time.Duration
	var u *url.URL
	var l []string
	var o *option.Option
	switch r.Kind {
	case "bool":
		o = option.Bool(&b, r.Flag, r.Text)
	case "int":
		o = option.Int(&n, r.Flag, r.Text)
	case "duration":
		o = option.Duration(&d, r.Flag, r.Text)
	case "url":
		o = option.URL(&u, r.Flag, r.Text)
	case "string-array":
		o = option.List(&l, r.Flag, r.Text)
	case "regexp":
		o = option.Regexp(&s, r.Flag, r.Text)
	case "password|awsiamrds":
		o = option.Choice(&s, r.Flag, r.Text, "password", "awsiamrds")
	case "struct[map[string]string]":
		o = option.JSON[map[string]string](&s, "map[string]string", r.Flag, r.Text)
	case "struct[map[string][]string]":
		o = option.JSON[map[string][]string](&s, "map[string][]string", r.Flag, r.Text)
	case "struct[[]codersdk.LinkConfig]":
		o = option.JSON[[]map[string]string](&s, "[]codersdk.LinkConfig", r.Flag, r.Text)
	default:
		o = option.String(&s, r.Flag, r.Text)
	}
	return o.Env(r.Env).YAML(r.YAML).Def(r.Initial)
}
