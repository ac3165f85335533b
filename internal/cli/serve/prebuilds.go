package serve

import (
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/server"
)

func prebuildOptions(c *server.Prebuilds) []*option.Option {
	return under("Workspaces",
		option.Duration(&c.Interval, "workspace-prebuilds-reconciliation-interval", "How often the number of prebuilt workspaces is put right.").Env("CODER_WORKSPACE_PREBUILDS_RECONCILIATION_INTERVAL").YAML("workspace_prebuilds.reconciliation_interval").Def("1m0s"),
		option.Duration(&c.Backoff, "workspace-prebuilds-reconciliation-backoff-interval", "How long no workspace of a preset is built ahead after one failed, times the failures in a row.").Env("CODER_WORKSPACE_PREBUILDS_RECONCILIATION_BACKOFF_INTERVAL").YAML("workspace_prebuilds.reconciliation_backoff_interval").Def("1m0s").Hide(),
		option.Duration(&c.Lookback, "workspace-prebuilds-reconciliation-backoff-lookback-period", "The longest that this wait becomes.").Env("CODER_WORKSPACE_PREBUILDS_RECONCILIATION_BACKOFF_LOOKBACK_PERIOD").YAML("workspace_prebuilds.reconciliation_backoff_lookback_period").Def("1h0m0s").Hide(),
		option.Int(&c.FailureLimit, "workspace-prebuilds-failure-hard-limit", "How many failures in a row end that for a preset, until its template has another version; 0 for no limit.").Env("CODER_WORKSPACE_PREBUILDS_FAILURE_HARD_LIMIT").YAML("workspace_prebuilds.failure_hard_limit").Def("3").Hide(),
	)
}
