package apps

import (
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Options declares the options of the group.
func (c *Config) Options() []*option.Option {
	return option.Under(
		"Apps",
		option.Bool(&c.NoPaths, "disable-path-apps", "Disable path-based apps").Env("CODER_DISABLE_PATH_APPS").YAML("disablePathApps"),
		option.Bool(&c.PathSharing, "dangerous-allow-path-app-sharing",
			"Allow sharing of path-based apps, whose pages then act with the permissions of their visitors on "+
				"the dashboard").
			Env("CODER_DANGEROUS_ALLOW_PATH_APP_SHARING"),
		option.Bool(&c.PathSiteOwners, "dangerous-allow-path-app-site-owner-access",
			"Allow owners to open path-based apps of other users, whose pages then act with the owner's "+
				"permissions").
			Env("CODER_DANGEROUS_ALLOW_PATH_APP_SITE_OWNER_ACCESS"),
		option.Not(&c.NoUsage, "stats-collection-usage-stats-enable", "Record which users use which apps, and for how long").
			Env("CODER_STATS_COLLECTION_USAGE_STATS_ENABLE").
			YAML("introspection.statsCollection.usageStats.enable").
			Def("true"),
	)
}
