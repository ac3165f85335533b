package workspace

import (
	"context"
	"fmt"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func startCommand(a *app.Run) *app.Command {
	var in build.Inputs
	var noWait, sure bool
	options := append([]*option.Option{
		option.Bool(&noWait, "no-wait", "Return at once instead of following the build."), app.Yes(&sure),
	}, in.BuildOptions()...)
	return build.OnWorkspace(a, app.Command{
		Name: "start", Args: "<workspace>",
		Short:   "Start a workspace.",
		Long:    "One that runs is left alone, unless parameters get other values.",
		Options: options,
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		w, err := build.Await(ctx, a, c, w)
		if err != nil && ctx.Err() != nil {
			return err
		}
		changes := true
		if is(w, coder.WorkspaceTransitionStart) {
			if changes, err = changed(ctx, c, w, &in); err != nil {
				return err
			}
		}
		if !changes {
			fmt.Fprintf(a.Stdout, "The workspace %s is already started.\n", w.Name)
			if w.Outdated {
				fmt.Fprintf(a.Stderr, "Its template has a newer version; 'coder update %s' moves it there.\n", w.Name)
			}
			return nil
		}
		return start(ctx, a, c, w, &in, sure, noWait, "started")
	})
}

// is says that the last build of a workspace was of this kind and succeeded, so
// that another one would change nothing.
func is(w coder.Workspace, t coder.WorkspaceTransition) bool {
	return w.LatestBuild.Transition == t && w.LatestBuild.Job.Status == coder.ProvisionerJobStatusSucceeded
}

// changed says whether the inputs may give a workspace's parameters other
// values than they have.
func changed(ctx context.Context, c *client.Client, w coder.Workspace, in *build.Inputs) (bool, error) {
	if !in.Given() || in.AlwaysPrompt || in.PromptEphemeral || len(in.Ephemeral) > 0 {
		return in.Given(), nil
	}
	given, err := in.Values()
	if err != nil {
		return false, err
	}
	now, err := c.WorkspaceBuildParameters(ctx, w.LatestBuild.ID)
	if err != nil {
		return false, err
	}
	for _, p := range now {
		if given[p.Name] == p.Value {
			delete(given, p.Name)
		}
	}
	return len(given) > 0, nil
}

// start starts a workspace, on the active version when it must be or follows it.
func start(ctx context.Context, a *app.Run, c *client.Client, w coder.Workspace, in *build.Inputs, sure, noWait bool, done string) error {
	version := w.LatestBuild.TemplateVersionID
	if w.TemplateRequireActiveVersion || w.AutomaticUpdates == coder.AutomaticUpdatesAlways {
		version = w.TemplateActiveVersionID
	}
	req, err := build.StartRequest(ctx, a, c, w, version, in, sure)
	if err != nil {
		return err
	}
	if noWait {
		b, err := c.CreateWorkspaceBuild(ctx, w.ID, req)
		if err != nil {
			return err
		}
		if b.ProvisionerWarning != "" {
			a.Warn(b.ProvisionerWarning)
		}
		_, err = fmt.Fprintf(a.Stdout, "The workspace %s starts; 'coder logs %s -f' shows it.\n", w.Name, w.Name)
		return err
	}
	if err := build.Run(ctx, a, c, w, req); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "The workspace %s is %s.\n", w.Name, done)
	return err
}

func stopCommand(a *app.Run) *app.Command {
	var sure bool
	return build.OnWorkspace(a, app.Command{
		Name: "stop", Args: "<workspace>",
		Short:   "Stop a workspace; what its template keeps stays.",
		Options: []*option.Option{app.Yes(&sure)},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		if is(w, coder.WorkspaceTransitionStop) {
			_, err := fmt.Fprintf(a.Stdout, "The workspace %s is already stopped.\n", w.Name)
			return err
		}
		if err := a.Confirm("Stop the workspace "+w.Name+"?", sure); err != nil {
			return err
		}
		w, err := build.Await(ctx, a, c, w)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err := stopped(ctx, a, c, w); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "The workspace %s is stopped.\n", w.Name)
		return err
	})
}

// stopped stops a workspace, unless it is.
func stopped(ctx context.Context, a *app.Run, c *client.Client, w coder.Workspace) error {
	if is(w, coder.WorkspaceTransitionStop) {
		return nil
	}
	return build.Run(ctx, a, c, w, coder.CreateWorkspaceBuildRequest{Transition: coder.WorkspaceTransitionStop})
}

func restartCommand(a *app.Run) *app.Command {
	var in build.Inputs
	var sure bool
	return build.OnWorkspace(a, app.Command{
		Name: "restart", Args: "<workspace>",
		Short:   "Stop a workspace and start it again.",
		Options: append([]*option.Option{app.Yes(&sure)}, in.BuildOptions()...),
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		if err := a.Confirm("Restart the workspace "+w.Name+"?", sure); err != nil {
			return err
		}
		w, err := build.Await(ctx, a, c, w)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err := stopped(ctx, a, c, w); err != nil {
			return err
		}
		if w, err = c.Workspace(ctx, w.ID, nil); err != nil {
			return err
		}
		return start(ctx, a, c, w, &in, sure, false, "restarted")
	})
}

func updateCommand(a *app.Run) *app.Command {
	var in build.Inputs
	return build.OnWorkspace(a, app.Command{
		Name: "update", Args: "<workspace>",
		Short:   "Start a workspace on the active version of its template.",
		Long:    "A workspace that runs is stopped first. Parameters keep their values; new ones are asked for.",
		Options: in.BuildOptions(),
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		w, err := build.Await(ctx, a, c, w)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if !w.Outdated && !in.Given() {
			_, err := fmt.Fprintf(a.Stdout, "The workspace %s is on the active version already.\n", w.Name)
			return err
		}
		req, err := build.StartRequest(ctx, a, c, w, w.TemplateActiveVersionID, &in, false)
		if err != nil {
			return err
		}
		if w.LatestBuild.Transition == coder.WorkspaceTransitionStart {
			if err := build.Run(ctx, a, c, w, coder.CreateWorkspaceBuildRequest{Transition: coder.WorkspaceTransitionStop}); err != nil {
				return err
			}
		}
		if err := build.Run(ctx, a, c, w, req); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "The workspace %s is updated.\n", w.Name)
		return err
	})
}
