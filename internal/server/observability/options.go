package observability

import (
	"slices"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Options declares the options of the group.
func (c *Config) Options() []*option.Option {
	return slices.Concat(
		option.Under(
			"Observability",
			option.Bool(&c.PrometheusEnable, "prometheus-enable", "Serve Prometheus metrics").
				Env("CODER_PROMETHEUS_ENABLE").
				YAML("introspection.prometheus.enable"),
			option.Address(&c.PrometheusAddress, "prometheus-address", "Address of the Prometheus metrics").
				Env("CODER_PROMETHEUS_ADDRESS").
				YAML("introspection.prometheus.address").
				Def("127.0.0.1:2112"),
			option.Bool(&c.AgentStats, "prometheus-collect-agent-stats", "Collect metrics of agent statistics").
				Env("CODER_PROMETHEUS_COLLECT_AGENT_STATS").
				YAML("introspection.prometheus.collect_agent_stats"),
			option.Words(&c.AgentStatsBy, "prometheus-aggregate-agent-stats-by", "Labels by which agent statistics are aggregated", "agent_name",
				"template_name", "username", "workspace_name").
				As("string-array").
				Env("CODER_PROMETHEUS_AGGREGATE_AGENT_STATS_BY").
				YAML("introspection.prometheus.aggregate_agent_stats_by").
				Def("agent_name,template_name,username,workspace_name"),
			option.Bool(&c.PprofEnable, "pprof-enable", "Serve pprof profiles").Env("CODER_PPROF_ENABLE").YAML("introspection.pprof.enable"),
			option.Address(&c.PprofAddress, "pprof-address", "Address of the pprof profiles").
				Env("CODER_PPROF_ADDRESS").
				YAML("introspection.pprof.address").
				Def("127.0.0.1:6060"),
			option.Duration(&c.HealthRefresh, "health-check-refresh", "Cache period of health reports").
				Env("CODER_HEALTH_CHECK_REFRESH").
				YAML("introspection.healthcheck.refresh").
				Def("10m0s"),
			option.Duration(&c.HealthThreshold, "health-check-threshold-database", "Database latency above which the deployment is unhealthy").
				Env("CODER_HEALTH_CHECK_THRESHOLD_DATABASE").
				YAML("introspection.healthcheck.thresholdDatabase").
				Def("15ms"),
		),
		c.traceOptions(),
		c.Relay.options(),
		option.After("write-config", option.Under(
			"Other",
			option.String(&c.UpgradeMessage, "cli-upgrade-message", "Message for users whose client version differs from the server's").
				Env("CODER_CLI_UPGRADE_MESSAGE").
				YAML("client.cliUpgradeMessage"),
			option.URL(&c.DocsURL, "docs-url", "URL of the documentation").
				Env("CODER_DOCS_URL").
				YAML("networking.docsURL").
				Def("https://coder.com/docs"),
			option.JSON[[]codersdk.LinkConfig](
				&c.SupportLinks,
				"[]codersdk.LinkConfig",
				"support-links",
				"Links of the help menu, as a JSON list",
			).Env("CODER_SUPPORT_LINKS").
				YAML("supportLinks"),
			option.Bool(&c.UpdateCheck, "update-check", "Ask --update-check-url once a day for a newer version").
				Env("CODER_UPDATE_CHECK").
				YAML("updateCheck").
				Def("false"),
			option.URL(&c.UpdateCheckURL, "update-check-url", "URL that answers with the newest release, in the form of GitHub's 'latest release'").
				Env("CODER_UPDATE_CHECK_URL").
				YAML("updateCheckURL"),
			option.List(&c.Experiments, "experiments",
				"Experiments to enable, or * for all but oauth2: oauth2 is --oauth2-provider-enable; the features of mcp-server-http, "+
					"workspace-sharing, workspace-usage and auto-fill-parameters are always enabled, and the names only reported to clients").
				Env("CODER_EXPERIMENTS").
				YAML("experiments"),
		)...),
	)
}

// traceOptions declares the options of traces.
func (c *Config) traceOptions() []*option.Option {
	return option.Under(
		"Observability",
		option.Bool(&c.Traces.Enable, "trace", "Export traces with OTLP, as the standard OTEL_ variables configure").
			Env("CODER_TRACE_ENABLE").
			YAML("introspection.tracing.enable"),
		option.String(&c.Traces.HoneycombKey, "trace-honeycomb-api-key", "API key of Honeycomb, to which traces are also exported").
			Env("CODER_TRACE_HONEYCOMB_API_KEY"),
		option.Bool(&c.Traces.Logs, "trace-logs", "Add log lines to traces").
			Env("CODER_TRACE_LOGS").
			YAML("introspection.tracing.captureLogs"),
	)
}

// options declares how health reports show the relay, and that it cannot be disabled.
func (c *Relay) options() []*option.Option {
	return option.After("strict-transport-security-options", option.Under(
		"Networking",
		option.Bool(new(bool), "derp-server-enable", "Enable the relay (cannot be disabled: the relay carries the first packets of every connection, "+
			"until a direct path is found)").Env("CODER_DERP_SERVER_ENABLE").YAML("networking.derp.enable").Def("true").
			RefuseOther("the relay cannot be disabled: it carries the first packets of every workspace connection; remove "+
				"the option, and connections use a direct path when there is one"),
		option.String(&c.Name, "derp-server-region-name", "Name of the server's relay in health reports").
			Env("CODER_DERP_SERVER_REGION_NAME").
			YAML("networking.derp.regionName").
			Def("Coder Embedded Relay"),
		option.Int(&c.ID, "derp-server-region-id", "Region ID of the server's relay in health reports").
			Env("CODER_DERP_SERVER_REGION_ID").
			YAML("networking.derp.regionID").
			Def("999").
			Hide(),
		option.String(&c.Code, "derp-server-region-code", "Short name of the server's relay in health reports").
			Env("CODER_DERP_SERVER_REGION_CODE").
			YAML("networking.derp.regionCode").
			Def("coder").
			Hide(),
		option.Bool(new(bool), "derp-force-websockets", "Ignored, for compatibility (the relay always uses WebSocket)").
			Env("CODER_DERP_FORCE_WEBSOCKETS").
			YAML("networking.derp.forceWebSockets"),
	)...)
}
