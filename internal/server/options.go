package server

import (
	"slices"

	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Options declares the options of all groups, and of the directories and pages that
// belong to no group. A leading ~ in a path means home.
func (c *Config) Options(home string) []*option.Option {
	return slices.Concat(
		c.Network.Options(), c.Database.Options(home), c.Provisioning.Options(), c.Mirror.Options(), c.GitMirror.Options(), c.Sessions.Options(),
		c.External.Options(), c.Directory.Options(),
		c.OAuth2.Options(), c.Secrets.Options(),
		c.Notifications.Options(), c.Retention.Options(),
		c.Observability.Options(), c.Apps.Options(), c.Workspaces.Options(),
		option.After("postgres-conn-max-idle", option.Under(
			"Database",
			option.Path(&c.CacheDir, home, "cache-dir", "Directory for cached data").Env("CODER_CACHE_DIRECTORY").YAML("cacheDir").Def("~/.cache/coder"),
		)...),
		option.After("postgres-bin-dir", option.Under(
			"Database",
			option.Path(&c.Pages.BinDir, home, "binary-dir", "Directory of coder binaries for other platforms, named coder-<os>-<arch>").
				Env("CODER_BINARY_DIR").
				Hide(),
		)...),
		option.After("experiments", option.Under(
			"Other",
			option.Bool(&c.Pages.Swagger, "swagger-enable", "Serve the API documentation at /swagger").Env("CODER_SWAGGER_ENABLE").YAML("enableSwagger"),
			option.String(&c.Pages.TerminalRenderer, "web-terminal-renderer", "Renderer of the web terminal: webgl or dom; canvas means dom").
				Env("CODER_WEB_TERMINAL_RENDERER").
				YAML("client.webTerminalRenderer").
				Def("canvas"),
		)...),
	)
}
