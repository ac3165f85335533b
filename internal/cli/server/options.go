package server

import (
	"slices"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// serverFlags holds the values of the server's options.
type serverFlags struct {
	cfg         server.Config
	log         telemetry.LogConfig
	config      string
	writeConfig bool
}

// serverOptions returns every option of the server: those that its packages declare, those
// of the command, and those that are refused because the feature does not exist.
func serverOptions(a *command.Run, f *serverFlags) []*option.Option {
	return option.Arrange(slices.Concat(
		f.cfg.Options(a.Home()), option.After("health-check-threshold-database", logOptions(&f.log)...), otherOptions(a, f), unsupportedOptions(),
	))
}

func otherOptions(a *command.Run, f *serverFlags) []*option.Option {
	return option.Under(
		"Other",
		option.Path(&f.config, a.Home(), "config", "YAML configuration file; flags and environment variables override it").
			Short("c").
			Env("CODER_CONFIG_PATH").
			As("yaml-config-path"),
		option.Bool(&f.writeConfig, "write-config", "Print the options as YAML for --config and exit"),
		option.Bool(new(bool), "hide-ai-tasks", "Ignored, for compatibility (the dashboard has no tasks)").
			Env("CODER_HIDE_AI_TASKS").
			YAML("client.hideAITasks").
			Def("false"),
		option.Bool(new(bool), "telemetry", "Ignored, for compatibility (no telemetry is sent)").
			Env("CODER_TELEMETRY_ENABLE").
			YAML("telemetry.enable").
			Def("true"),
	)
}

// logOptions declares the options of a process that writes logs.
func logOptions(c *telemetry.LogConfig) []*option.Option {
	return option.Under(
		"Observability",
		option.List(&c.Filter, "log-filter", "Regular expression for the names of components with debug logs; .* means all").
			Short("l").
			Env("CODER_LOG_FILTER").
			YAML("introspection.logging.filter"),
		option.String(&c.Human, "log-human", "File for logs as text; \"\" disables").
			Env("CODER_LOGGING_HUMAN").
			YAML("introspection.logging.humanPath").
			Def("/dev/stderr"),
		option.String(&c.JSON, "log-json", "File for logs as JSON").Env("CODER_LOGGING_JSON").YAML("introspection.logging.jsonPath"),
		option.String(&c.Stackdriver, "log-stackdriver", "File for logs in Google Cloud's Stackdriver format").
			Env("CODER_LOGGING_STACKDRIVER").
			YAML("introspection.logging.stackdriverPath"),
	)
}
