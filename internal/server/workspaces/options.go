package workspaces

import (
	"slices"

	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Options declares the options of the group.
func (c *Config) Options() []*option.Option {
	return slices.Concat(
		option.Under(
			"Workspaces",
			option.Bool(&c.AllowRenames, "allow-workspace-renames", "Allow workspace renames, which may lose data when a template uses the name").
				Env("CODER_ALLOW_WORKSPACE_RENAMES").
				YAML("allowWorkspaceRenames").
				Def("false"),
			option.String(&c.Quiet.Default, "default-quiet-hours-schedule", "Default quiet hours, in which required stops take place").
				Env("CODER_QUIET_HOURS_DEFAULT_SCHEDULE").
				YAML("userQuietHoursSchedule.defaultQuietHoursSchedule").
				Def("CRON_TZ=UTC 0 0 * * *"),
			option.Duration(&c.AutobuildPollInterval, "autobuild-poll-interval", "Interval between autostart, autostop and deletion checks").
				Env("CODER_AUTOBUILD_POLL_INTERVAL").
				YAML("autobuildPollInterval").
				Def("1m0s").
				Hide(),
			option.Not(&c.Quiet.Fixed, "allow-custom-quiet-hours", "Allow users to set their own quiet hours").
				Env("CODER_ALLOW_CUSTOM_QUIET_HOURS").
				YAML("userQuietHoursSchedule.allowCustomQuietHours").
				Def("true"),
			option.Int(&c.PlansAhead, "workspace-plans-ahead", "Number of stopped workspaces whose next start is planned while provisioners are idle; 0 disables it").
				Env("CODER_WORKSPACE_PLANS_AHEAD").
				YAML("workspacePlansAhead").
				Def("200"),
			option.String(&c.HostnameSuffix, "workspace-hostname-suffix", "Suffix of workspace host names in SSH configurations").
				Env("CODER_WORKSPACE_HOSTNAME_SUFFIX").
				YAML("client.workspaceHostnameSuffix").
				Def("coder"),
			option.List(&c.SSHOptions, "ssh-config-options", "SSH options for all users, as Key=value").Env("CODER_SSH_CONFIG_OPTIONS").YAML("client.sshConfigOptions"),
		),
		c.Prebuilds.options(),
		option.After("provisioner-daemon-poll-jitter", option.Under(
			"Provisioning",
			option.Bool(&c.TerraformDebug, "enable-terraform-debug-mode", "Allow builds with Terraform debug logs").
				Env("CODER_ENABLE_TERRAFORM_DEBUG_MODE").
				YAML("introspection.logging.enableTerraformDebugMode").
				Def("false"),
		)...),
	)
}

func (c *Prebuilds) options() []*option.Option {
	return option.Under(
		"Workspaces",
		option.Duration(&c.Interval, "workspace-prebuilds-reconciliation-interval", "Interval between reconciliations of prebuilt workspaces").
			Env("CODER_WORKSPACE_PREBUILDS_RECONCILIATION_INTERVAL").
			YAML("workspace_prebuilds.reconciliation_interval").
			Def("1m0s"),
		option.Duration(&c.Backoff, "workspace-prebuilds-reconciliation-backoff-interval",
			"Backoff after failed prebuilds of a preset, multiplied by the number of consecutive failures").
			Env("CODER_WORKSPACE_PREBUILDS_RECONCILIATION_BACKOFF_INTERVAL").
			YAML("workspace_prebuilds.reconciliation_backoff_interval").
			Def("1m0s").
			Hide(),
		option.Duration(&c.Lookback, "workspace-prebuilds-reconciliation-backoff-lookback-period", "Maximum backoff after failed prebuilds").
			Env("CODER_WORKSPACE_PREBUILDS_RECONCILIATION_BACKOFF_LOOKBACK_PERIOD").
			YAML("workspace_prebuilds.reconciliation_backoff_lookback_period").
			Def("1h0m0s").
			Hide(),
		option.Int(&c.FailureLimit, "workspace-prebuilds-failure-hard-limit",
			"Number of consecutive failures after which prebuilds of a preset stop until the template has a new "+
				"version; 0 means unlimited").
			Env("CODER_WORKSPACE_PREBUILDS_FAILURE_HARD_LIMIT").
			YAML("workspace_prebuilds.failure_hard_limit").
			Def("3").
			Hide(),
	)
}
