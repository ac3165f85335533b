package scale

import (
	"context"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/scaletest"
)

// targets are the workspaces of a test.
type targets struct{ template, span string }

func (t *targets) options() []*option.Option {
	return []*option.Option{
		option.String(&t.template, "template", "Use workspaces of this template only").Short("t").Env("CODER_SCALETEST_TEMPLATE"),
		option.String(&t.span, "target-workspaces", "Range of the workspaces to use, such as 0:100; empty for all").
			Env("CODER_SCALETEST_TARGET_WORKSPACES"),
	}
}

// find returns the client of the session, and the workspaces. It fails when there are none.
func (t *targets) find(ctx context.Context, a *command.Run) (*codersdk.Client, []codersdk.Workspace, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return nil, nil, err
	}
	all, err := scaletest.Workspaces(ctx, c, t.template)
	if err != nil {
		return nil, nil, err
	}
	if len(all) == 0 {
		return nil, nil, command.Failure("no workspaces of scale tests exist; create them with 'coder exp scaletest create-workspaces --no-cleanup'")
	}
	all, err = slice(all, "target-workspaces", t.span)
	return c, all, err
}

func trafficCommand(a *command.Run) *command.Command {
	o := &runner{app: a}
	var in targets
	t := scaletest.Traffic{}
	var ssh bool
	var app string
	return &command.Command{
		Name:  "workspace-traffic",
		Short: "Send bytes to workspaces at a constant rate and measure when they return",
		Long: "The traffic passes a web terminal. With --ssh it passes an SSH session in a tunnel, and with --app a " +
			"WebSocket app of the workspace: wsec sends back what it receives, wsdi only reads, and wsra only writes.",
		Options: append(append(o.options("0", "job-timeout", "0s"), in.options()...),
			option.Int(&t.BytesPerTick, "bytes-per-tick", "Bytes to send at each tick").Env("CODER_SCALETEST_WORKSPACE_TRAFFIC_BYTES_PER_TICK").Def("1024"),
			option.Duration(&t.TickInterval, "tick-interval", "Interval of the ticks").Env("CODER_SCALETEST_WORKSPACE_TRAFFIC_TICK_INTERVAL").Def("100ms"),
			option.Duration(&t.Duration, "duration", "Duration of the traffic of each workspace").
				Env("CODER_SCALETEST_WORKSPACE_TRAFFIC_DURATION").Def("30s"),
			option.Bool(&ssh, "ssh", "Send the traffic over SSH").Env("CODER_SCALETEST_WORKSPACE_TRAFFIC_SSH"),
			option.String(&app, "app", "WebSocket app to send the traffic to: wsec, wsdi or wsra").Env("CODER_SCALETEST_WORKSPACE_TRAFFIC_APP"),
		),
		Run: func(ctx context.Context, _ []string) error {
			switch {
			case t.BytesPerTick < 1 || t.BytesPerTick > 1<<20:
				return command.Failure("--bytes-per-tick must be between 1 and %d", 1<<20)
			case t.TickInterval < time.Millisecond || t.Duration < t.TickInterval:
				return command.Failure("--tick-interval must be at least 1ms, and --duration at least one tick")
			case ssh && app != "":
				return command.Failure("--ssh and --app exclude each other")
			case app != "" && app != scaletest.AppEcho && app != scaletest.AppDiscard && app != scaletest.AppRandom:
				return command.Failure("--app must be one of wsec, wsdi and wsra, got %q", app)
			}
			t.Way = scaletest.WayTerminal
			if ssh {
				t.Way = scaletest.WaySSH
			} else if app != "" {
				t.Way = app
			}
			c, all, err := in.find(ctx, a)
			if err != nil {
				return err
			}
			t.Client = c
			return o.execute(ctx, c, "workspace-traffic", t.Tasks(all))
		},
	}
}

func updatesCommand(a *command.Run) *command.Command {
	o := &runner{app: a}
	var in targets
	return &command.Command{
		Name:  "workspace-updates",
		Short: "Restart workspaces and measure when watchers see the changes",
		Long:  "Each workspace is stopped and started once. A watcher of the workspace measures the delay of every change.",
		Options: append(
			o.options("10", "job-timeout", "5m"),
			in.options()...,
		),
		Run: func(ctx context.Context, _ []string) error {
			c, all, err := in.find(ctx, a)
			if err != nil {
				return err
			}
			return o.execute(ctx, c, "workspace-updates", scaletest.Updates(c, all))
		},
	}
}

func dashboardCommand(a *command.Run) *command.Command {
	o := &runner{app: a}
	d := scaletest.Dashboard{}
	var span string
	return &command.Command{
		Name:  "dashboard",
		Short: "Send the requests of dashboard pages as the users of scale tests",
		Options: append(o.options("0", "job-timeout", "0s"),
			option.String(&span, "target-users", "Range of the users to use, such as 0:100; empty for all").Env("CODER_SCALETEST_DASHBOARD_TARGET_USERS"),
			option.Duration(&d.Interval, "interval", "Mean pause between two pages of a user").Env("CODER_SCALETEST_DASHBOARD_INTERVAL").Def("10s"),
			option.Duration(&d.Duration, "duration", "Duration of the test").Env("CODER_SCALETEST_DASHBOARD_DURATION").Def("1m"),
		),
		Run: func(ctx context.Context, _ []string) error {
			if d.Interval < time.Millisecond || d.Duration < time.Second {
				return command.Failure("--interval must be at least 1ms, and --duration at least 1s")
			}
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			all, err := scaletest.Users(ctx, c)
			if err != nil {
				return err
			}
			if len(all) == 0 {
				return command.Failure("no users of scale tests exist; create them with 'coder exp scaletest create-workspaces --no-cleanup'")
			}
			if all, err = slice(all, "target-users", span); err != nil {
				return err
			}
			d.Client = c
			return o.execute(ctx, c, "dashboard", d.Tasks(all))
		},
	}
}
