package retention

import (
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Options declares the options of the group: retention periods of records. 0 keeps them
// forever.
func (c *Config) Options() []*option.Option {
	return option.Under(
		"Retention",
		option.Duration(&c.AuditLogs, "audit-logs-retention", "Retention of audit logs; 0 means forever").
			Env("CODER_AUDIT_LOGS_RETENTION").
			YAML("retention.audit_logs").
			Def("0"),
		option.Duration(&c.ConnectionLogs, "connection-logs-retention", "Retention of connection logs; 0 means forever").
			Env("CODER_CONNECTION_LOGS_RETENTION").
			YAML("retention.connection_logs").
			Def("0"),
		option.Duration(&c.APIKeys, "api-keys-retention", "Retention of expired API keys; 0 means forever").
			Env("CODER_API_KEYS_RETENTION").
			YAML("retention.api_keys").
			Def("7d"),
		option.Duration(&c.AgentLogs, "workspace-agent-logs-retention",
			"Retention of agent logs of earlier builds, after the agent's last connection; 0 means forever").
			Env("CODER_WORKSPACE_AGENT_LOGS_RETENTION").
			YAML("retention.workspace_agent_logs").
			Def("7d"),
		option.Duration(&c.JobLogs, "provisioner-job-logs-retention",
			"Retention of logs of earlier builds, imports and dry runs, after the job ended; 0 means forever").
			Env("CODER_PROVISIONER_JOB_LOGS_RETENTION").
			YAML("retention.provisioner_job_logs").
			Def("0"),
		option.Duration(&c.BuildTimings, "build-timings-retention", "Retention of timings of earlier builds; 0 means forever").
			Env("CODER_BUILD_TIMINGS_RETENTION").
			YAML("retention.build_timings").
			Def("0"),
	)
}
