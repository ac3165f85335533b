// Package workspaces groups templates, workspaces, their schedules and prebuilt
// workspaces.
package workspaces

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/calendar"
	"github.com/seed-2a7f8fe7/coder/internal/externalauth"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/prebuild"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/schedule"
	"github.com/seed-2a7f8fe7/coder/internal/server/base"
	"github.com/seed-2a7f8fe7/coder/internal/template"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// Config describes the rules of workspaces.
type Config struct {
	AllowRenames          bool
	TerraformDebug        bool           // builds may ask for debug logs
	Quiet                 calendar.Quiet // when workspaces that must stop once a day do
	AutobuildPollInterval time.Duration  // between checks of schedules; 0: a minute
	Prebuilds             Prebuilds
	PlansAhead            int // plans of the next start of stopped workspaces; 0: none

	HostnameSuffix string   // of workspaces in SSH configurations, "coder"
	HostnamePrefix string   // "": "coder."
	SSHOptions     []string // for all users, as Key=value
}

// Prebuilds describes how prebuilt workspaces are reconciled. (WS-20)
type Prebuilds struct {
	Interval time.Duration // between reconciliations; 0: a minute
	// After a failed prebuild, none of its preset is created for Backoff times the
	// number of failures, at most Lookback. After FailureLimit failures in a row,
	// none is created until the template has a new version; 0: no limit.
	Backoff      time.Duration
	Lookback     time.Duration
	FailureLimit int
}

// maxPlansAhead bounds what the database stores of plans, of at most 3 MiB each.
const maxPlansAhead = 10_000

// Check refuses values out of range.
func (c Config) Check() error {
	p := c.Prebuilds
	switch _, err := calendar.ParseDaily(c.Quiet.Default); {
	case c.Quiet.Default != "" && err != nil:
		return codersdk.Errorf(codersdk.CodeInvalid,
			"--default-quiet-hours-schedule must be a zone, a minute, an hour and three stars, such as CRON_TZ=UTC 0 0 * * *, got %q", c.Quiet.Default)
	case p.Interval < 0 || p.Backoff < 0 || p.Lookback < 0:
		return codersdk.Errorf(codersdk.CodeInvalid,
			"--workspace-prebuilds-reconciliation-interval, its backoff interval and its lookback period cannot be negative")
	case c.PlansAhead < 0 || c.PlansAhead > maxPlansAhead:
		return codersdk.Errorf(codersdk.CodeInvalid, "--workspace-plans-ahead must be between 0 and %d", maxPlansAhead)
	case p.FailureLimit < 0:
		return codersdk.Errorf(codersdk.CodeInvalid, "--workspace-prebuilds-failure-hard-limit cannot be negative; 0 is no limit")
	}
	_, err := option.SSHPairs(c.SSHOptions)
	return err
}

// SSH returns what clients write to SSH configurations.
func (c Config) SSH() codersdk.SSHConfigResponse {
	prefix := c.HostnamePrefix
	if prefix == "" {
		prefix = "coder."
	}
	options, err := option.SSHPairs(c.SSHOptions)
	if err != nil {
		options = map[string]string{} // Check refused it
	}
	return codersdk.SSHConfigResponse{HostnamePrefix: prefix, HostnameSuffix: c.HostnameSuffix, SSHConfigOptions: options}
}

// Group is the use cases of templates and workspaces.
type Group struct {
	Templates  *template.Service
	Workspaces *workspace.Service
	Prebuilds  *prebuild.Service
	schedule   *schedule.Service
}

// New creates the group.
func New(b *base.Base, c Config, users *identity.Service, jobs *queue.Service, links *externalauth.Service) *Group {
	g := &Group{Templates: template.New(template.Config{
		Store: b.Store, Vault: b.Vault, Queue: jobs, Log: b.Logger("template"), AccessURL: b.AccessURL, Now: b.Now,
		Links: links,
	})}
	g.Workspaces = workspace.New(workspace.Config{
		Store: b.Store, Vault: b.Vault, Queue: jobs, Hub: b.Hub, Log: b.Logger("workspace"), Now: b.Now, AccessURL: b.AccessURL, Registerer: b.WhenMeasured(),
		PlanAhead: c.PlansAhead > 0, AllowRenames: c.AllowRenames, AllowDebugLogs: c.TerraformDebug, Quiet: c.Quiet,
		OwnerToken: func(ctx context.Context, q *sqlc.Queries, ownerID, buildID uuid.UUID) (string, error) {
			return users.BuildToken(ctx, q, ownerID, buildID, "")
		},
		DropOwnerToken: users.DeleteBuildToken,
		Links:          links,
	})
	g.schedule = schedule.New(schedule.Config{
		Store: b.Store, Workspaces: g.Workspaces, Log: b.Logger("schedule"), Now: b.Now, Interval: c.AutobuildPollInterval, Registerer: b.Registry,
	})
	g.Prebuilds = prebuild.New(prebuild.Config{
		Store: b.Store, Workspaces: g.Workspaces, Hub: b.Hub, Log: b.Logger("prebuild"), Now: b.Now, Registerer: b.Registry, Interval: c.Prebuilds.Interval,
		Rules: prebuild.Rules{Backoff: c.Prebuilds.Backoff, Lookback: c.Prebuilds.Lookback, Limit: c.Prebuilds.FailureLimit},
	})
	return g
}

// Services returns what runs in the background.
func (g *Group) Services() []lifecycle.Named {
	return []lifecycle.Named{
		{Name: "schedules of workspaces", Service: g.schedule},
		{Name: "prebuilt workspaces", Service: g.Prebuilds},
	}
}
