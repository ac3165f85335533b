package scale

import (
	"context"
	"maps"
	"slices"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/scaletest"
)

// maxCount bounds --count.
const maxCount = 100_000

func createCommand(a *command.Run) *command.Command {
	o := &runner{app: a}
	var in build.Inputs
	var count int
	var template, org string
	var own, keep bool
	return &command.Command{
		Name:  "create-workspaces",
		Short: "Create workspaces and wait until they are ready",
		Long: "Each workspace belongs to a new user without a way to sign in. At the end the command deletes all workspaces " +
			"and users of scale tests, unless --no-cleanup is set.",
		Options: append(o.options("10", "job-timeout", "5m"),
			option.Int(&count, "count", "Number of workspaces").Short("c").Env("CODER_SCALETEST_COUNT").Def("1"),
			option.Int(&o.retries, "retry", "Number of further attempts after a failure").Env("CODER_SCALETEST_RETRY").Def("0"),
			option.String(&template, "template", "Template of the workspaces").Short("t").Env("CODER_SCALETEST_TEMPLATE"),
			command.Org(&org),
			in.ParameterOption(), in.FileOption(),
			option.Bool(&own, "use-host-login", "Create the workspaces for the user who runs the command").Env("CODER_SCALETEST_USE_HOST_LOGIN"),
			option.Bool(&keep, "no-cleanup", "Keep the workspaces and users").Env("CODER_SCALETEST_NO_CLEANUP"),
		),
		Run: func(ctx context.Context, _ []string) error {
			if template == "" {
				return command.Failure("--template is required")
			}
			if count < 1 || count > maxCount || o.retries < 0 {
				return command.Failure("--count must be between 1 and %d, and --retry at least 0", maxCount)
			}
			if _, err := parseOutputs(o.outputs); err != nil {
				return err // before the cleanup, which would delete the workspaces of other tests
			}
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			t, err := build.Template(ctx, a, c, org, template)
			if err != nil {
				return err
			}
			values, err := in.Values()
			if err != nil {
				return err
			}
			create := scaletest.Creation{Client: c, Template: t, OwnWorkspaces: own}
			for _, name := range slices.Sorted(maps.Keys(values)) {
				create.Parameters = append(create.Parameters, codersdk.WorkspaceBuildParameter{Name: name, Value: values[name]})
			}
			err = o.execute(ctx, c, "create-workspaces", create.Tasks(count))
			if keep {
				return err
			}
			if cerr := cleanup(ctx, &runner{app: a, concurrency: o.concurrency, taskTimeout: o.taskTimeout, timeout: o.timeout}, c); err == nil {
				err = cerr
			}
			return err
		},
	}
}

func cleanupCommand(a *command.Run) *command.Command {
	o := &runner{app: a}
	return &command.Command{
		Name:  "cleanup",
		Short: "Delete the workspaces and users of scale tests",
		Options: []*option.Option{
			option.Int(&o.concurrency, "cleanup-concurrency", "Number of deletions at a time; 0 means all at once").
				Env("CODER_SCALETEST_CLEANUP_CONCURRENCY").Def("10"),
			option.Duration(&o.taskTimeout, "cleanup-job-timeout", "Time limit of each deletion; 0 means no limit").
				Env("CODER_SCALETEST_CLEANUP_JOB_TIMEOUT").Def("5m"),
			option.Duration(&o.timeout, "cleanup-timeout", "Time limit of the whole cleanup; 0 means no limit").
				Env("CODER_SCALETEST_CLEANUP_TIMEOUT").Def("30m"),
		},
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			return cleanup(ctx, o, c)
		},
	}
}

// cleanup deletes all workspaces of scale tests, then the users. Users remain
// when a workspace could not be deleted. A cleanup that was interrupted is
// continued by the next one.
func cleanup(ctx context.Context, o *runner, c *codersdk.Client) error {
	all, err := scaletest.Workspaces(ctx, c, "")
	if err != nil {
		return err
	}
	if err := o.execute(ctx, c, "delete workspaces", scaletest.DeleteWorkspaces(c, all)); err != nil {
		return err
	}
	users, err := scaletest.Users(ctx, c)
	if err != nil {
		return err
	}
	return o.execute(ctx, c, "delete users", scaletest.DeleteUsers(c, users))
}
