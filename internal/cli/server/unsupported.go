package server

import (
	"net/url"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// unsupported is an option of the public interface whose feature does not
// exist. It is hidden, accepts its default and "off" values, and refuses all
// others.
type unsupported struct{ flag, kind, env, yaml, initial string }

// missing is a missing feature with the options that request it.
type missing struct {
	// why names the missing feature and what to use instead.
	why     string
	options []unsupported
}

// unsupportedOptions returns every refused option.
func unsupportedOptions() []*option.Option {
	var all []*option.Option
	for _, m := range missingFeatures() {
		for _, o := range m.options {
			all = append(all, o.option().Refuse(m.why))
		}
	}
	return all
}

// missingFeatures is the only list of refused options. To implement a feature,
// move its rows to the supported options.
func missingFeatures() []missing {
	return []missing{
		{"the server has no AI bridge; remove the option, and give AI tools in workspaces the address and key of their provider in the template", aiBridgeOptions()},
		{
			"the server has no AI gateway; remove the option, and give AI tools in workspaces the address and key of their provider in the template",
			aiGatewayOptions(),
		},
		{"the server has no AI chats; remove the option", chatOptions()},
		{"the server sends no requests to MCP servers; remove the option", []unsupported{
			{"mcp-allowed-private-cidrs", "string-array", "CODER_MCP_ALLOWED_PRIVATE_CIDRS", "", ""},
		}},
		{"the server exports traces with OTLP only; remove the option, and use --trace with the address of a Datadog agent that receives OTLP", []unsupported{
			{"trace-datadog", "bool", "CODER_TRACE_DATADOG", "introspection.tracing.dataDog", ""},
		}},
		{"the server does not support external relays; remove the option, and run workspace proxies near the users ('coder wsproxy create')", []unsupported{
			{"derp-config-url", "string", "CODER_DERP_CONFIG_URL", "networking.derp.url", ""},
			{"derp-config-path", "string", "CODER_DERP_CONFIG_PATH", "networking.derp.configPath", ""},
		}},
		{"replicas discover each other through the database; remove the option, and set --derp-server-relay-url on each replica", []unsupported{
			{"cluster-host", "string", "CODER_CLUSTER_HOST", "networking.cluster.clusterHost", ""},
		}},
		{"each provisioner has its own cache of Terraform modules; remove the option, and limit the cache with 'coder provisioner start --cache-size'", []unsupported{
			{"provisioner-disable-module-cache", "bool", "CODER_PROVISIONER_DISABLE_MODULE_CACHE", "provisioning.disableModuleCache", "false"},
		}},
		{"the server has no template builder; remove the option, and start from 'coder templates init'", []unsupported{
			{"template-builder-registry-url", "url", "CODER_TEMPLATE_BUILDER_REGISTRY_URL", "templateBuilderRegistryURL", ""},
		}},
		{"the server does not record agent firewall logs; remove the option", []unsupported{
			{"boundary-log-retention", "duration", "CODER_BOUNDARY_LOG_RETENTION", "retention.boundary_logs", "0"},
		}},
		{"the server has no tasks; remove the option", []unsupported{
			{"enable-ai-tasks", "bool", "CODER_ENABLE_AI_TASKS", "enableAITasks", "false"},
		}},
		{"the cookie prefix __Host- is not supported; remove the option, and use --secure-auth-cookie", []unsupported{
			{"host-prefix-cookie", "bool", "CODER_HOST_PREFIX_COOKIE", "networking.hostPrefixCookie", "false"},
		}},
	}
}

func aiBridgeOptions() []unsupported {
	return []unsupported{
		{"aibridge-enabled", "bool", "CODER_AIBRIDGE_ENABLED", "aibridge.enabled", "false"},
		{"aibridge-openai-base-url", "string", "CODER_AIBRIDGE_OPENAI_BASE_URL", "aibridge.openai_base_url", "https://api.openai.com/v1/"},
		{"aibridge-openai-key", "string", "CODER_AIBRIDGE_OPENAI_KEY", "", ""},
		{"aibridge-anthropic-base-url", "string", "CODER_AIBRIDGE_ANTHROPIC_BASE_URL", "aibridge.anthropic_base_url", "https://api.anthropic.com/"},
		{"aibridge-anthropic-key", "string", "CODER_AIBRIDGE_ANTHROPIC_KEY", "", ""},
		{"aibridge-bedrock-base-url", "string", "CODER_AIBRIDGE_BEDROCK_BASE_URL", "aibridge.bedrock_base_url", ""},
		{"aibridge-bedrock-region", "string", "CODER_AIBRIDGE_BEDROCK_REGION", "aibridge.bedrock_region", ""},
		{"aibridge-bedrock-access-key", "string", "CODER_AIBRIDGE_BEDROCK_ACCESS_KEY", "", ""},
		{"aibridge-bedrock-access-key-secret", "string", "CODER_AIBRIDGE_BEDROCK_ACCESS_KEY_SECRET", "", ""},
		{"aibridge-bedrock-model", "string", "CODER_AIBRIDGE_BEDROCK_MODEL", "aibridge.bedrock_model", "global.anthropic.claude-sonnet-4-5-20250929-v1:0"},
		{
			"aibridge-bedrock-small-fastmodel",
			"string",
			"CODER_AIBRIDGE_BEDROCK_SMALL_FAST_MODEL",
			"aibridge.bedrock_small_fast_model",
			"global.anthropic.claude-haiku-4-5-20251001-v1:0",
		},
		{"aibridge-inject-coder-mcp-tools", "bool", "CODER_AIBRIDGE_INJECT_CODER_MCP_TOOLS", "aibridge.inject_coder_mcp_tools", "false"},
		{"aibridge-retention", "duration", "CODER_AIBRIDGE_RETENTION", "aibridge.retention", "60d"},
		{"aibridge-max-concurrency", "int", "CODER_AIBRIDGE_MAX_CONCURRENCY", "aibridge.max_concurrency", "0"},
		{"aibridge-rate-limit", "int", "CODER_AIBRIDGE_RATE_LIMIT", "aibridge.rate_limit", "0"},
		{"aibridge-structured-logging", "bool", "CODER_AIBRIDGE_STRUCTURED_LOGGING", "aibridge.structured_logging", "false"},
		{"aibridge-send-actor-headers", "bool", "CODER_AIBRIDGE_SEND_ACTOR_HEADERS", "aibridge.send_actor_headers", "false"},
		{"aibridge-circuit-breaker-enabled", "bool", "CODER_AIBRIDGE_CIRCUIT_BREAKER_ENABLED", "aibridge.circuit_breaker_enabled", "false"},
		{"aibridge-proxy-enabled", "bool", "CODER_AIBRIDGE_PROXY_ENABLED", "aibridgeproxy.enabled", "false"},
		{"aibridge-proxy-listen-addr", "string", "CODER_AIBRIDGE_PROXY_LISTEN_ADDR", "aibridgeproxy.listen_addr", ":8888"},
		{"aibridge-proxy-cert-file", "string", "CODER_AIBRIDGE_PROXY_CERT_FILE", "aibridgeproxy.cert_file", ""},
		{"aibridge-proxy-key-file", "string", "CODER_AIBRIDGE_PROXY_KEY_FILE", "aibridgeproxy.key_file", ""},
		{"aibridge-proxy-upstream", "string", "CODER_AIBRIDGE_PROXY_UPSTREAM", "aibridgeproxy.upstream_proxy", ""},
		{"aibridge-proxy-upstream-ca", "string", "CODER_AIBRIDGE_PROXY_UPSTREAM_CA", "aibridgeproxy.upstream_proxy_ca", ""},
	}
}

// aiGatewayOptions returns the options of the AI bridge under their newer
// names.
func aiGatewayOptions() []unsupported {
	return derived("ai_gateway", []unsupported{
		{flag: "ai-gateway-enabled", kind: "bool"}, {flag: "ai-gateway-retention", kind: "duration", initial: "60d"},
		{flag: "ai-gateway-max-concurrency", kind: "int", initial: "0"}, {flag: "ai-gateway-rate-limit", kind: "int", initial: "0"},
		{flag: "ai-gateway-structured-logging", kind: "bool"}, {flag: "ai-gateway-structured-logging-source", kind: "string", initial: "coderd"},
		{flag: "ai-gateway-disable-content-recording", kind: "bool"}, {flag: "ai-gateway-send-actor-headers", kind: "bool"},
		{flag: "ai-gateway-actor-header-id", kind: "string"}, {flag: "ai-gateway-actor-header-username", kind: "string"},
		{flag: "ai-gateway-actor-header-email", kind: "string"}, {flag: "ai-gateway-dump-dir", kind: "string"},
		{flag: "ai-gateway-allow-byok", kind: "bool", initial: "true"}, {flag: "ai-gateway-circuit-breaker-enabled", kind: "bool"},
		{flag: "ai-gateway-proxy-enabled", kind: "bool"}, {flag: "ai-gateway-proxy-listen-addr", kind: "string", initial: ":8888"},
		{flag: "ai-gateway-proxy-cert-file", kind: "string"}, {flag: "ai-gateway-proxy-key-file", kind: "string"},
		{flag: "ai-gateway-proxy-upstream", kind: "string"}, {flag: "ai-gateway-proxy-upstream-ca", kind: "string"},
		{flag: "ai-gateway-proxy-domain-allowlist", kind: "string-array"},
		{flag: "ai-budget-policy", kind: "string", initial: "highest"}, {flag: "ai-budget-period", kind: "string", initial: "month"},
	})
}

func chatOptions() []unsupported {
	return derived("chat", []unsupported{
		{flag: "chat-debug-logging-enabled", kind: "bool"}, {flag: "chat-max-steps-per-turn", kind: "int", initial: "1200"},
		{flag: "chat-max-generation-retries", kind: "int", initial: "25"}, {flag: "chat-max-queued-messages-per-chat", kind: "int", initial: "20"},
		{flag: "chat-max-attachments-per-chat", kind: "int", initial: "50"}, {flag: "chat-max-prompt-bytes", kind: "int", initial: "131072"},
		{flag: "chat-max-concurrent-recording-uploads", kind: "int", initial: "25"}, {flag: "chat-stream-silence-timeout", kind: "duration", initial: "10m"},
	})
}

// derived fills in the variables and keys that follow from the flags. The key
// is below section, without the words of the section.
func derived(section string, options []unsupported) []unsupported {
	for i := range options {
		words := strings.ReplaceAll(options[i].flag, "-", "_")
		options[i].env = "CODER_" + strings.ToUpper(words)
		options[i].yaml = section + "." + strings.TrimPrefix(strings.TrimPrefix(words, section+"_"), "ai_")
	}
	return options
}

// option returns the option of a row. Its value is only validated and compared.
func (u unsupported) option() *option.Option {
	const text = "Not supported"
	var o *option.Option
	switch u.kind {
	case "bool":
		o = option.Bool(new(bool), u.flag, text)
	case "int":
		o = option.Int(new(int), u.flag, text)
	case "duration":
		o = option.Duration(new(time.Duration), u.flag, text)
	case "url":
		o = option.URL(new(*url.URL), u.flag, text)
	case "string-array":
		o = option.List(new([]string), u.flag, text)
	default:
		o = option.String(new(string), u.flag, text)
	}
	return o.Env(u.env).YAML(u.yaml).Def(u.initial).OnlyHere()
}
