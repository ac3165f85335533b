package workspace

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func startCommand(a *command.Run) *command.Command {
	var in build.Inputs
	var noWait, sure bool
	var reason string
	options := append([]*option.Option{
		option.Bool(&noWait, "no-wait", "Return immediately instead of following the build"), command.Yes(&sure),
		option.String(&reason, "reason", "Reason of the build, such as vscode_connection").Env("CODER_BUILD_REASON").Hide(),
	}, in.BuildOptions()...)
	return build.OnWorkspace(a, command.Command{
		Name: "start", Args: "<workspace>",
		Short:   "Start a workspace",
		Long:    "A running workspace is left unchanged, unless parameter values change.",
		Options: options,
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, _ []string) error {
		w, err := build.Await(ctx, a, c, w)
		if err != nil && ctx.Err() != nil {
			return err
		}
		changes := true
		if alreadyIn(w, codersdk.WorkspaceTransitionStart) {
			if changes, err = changesParameters(ctx, c, w, &in); err != nil {
				return err
			}
		}
		if !changes {
			fmt.Fprintf(a.Stdout, "Workspace %s is already started.\n", w.Name)
			if w.Outdated {
				fmt.Fprintf(a.Stderr, "A newer template version is available; update with 'coder update %s'.\n", w.Name)
			}
			return nil
		}
		return start(ctx, a, c, w, starting{in: &in, sure: sure, noWait: noWait, reason: reason})
	})
}

// alreadyIn reports whether the latest build of a workspace was a successful build
// with this transition, so that another one would change nothing.
func alreadyIn(w codersdk.Workspace, t codersdk.WorkspaceTransition) bool {
	return w.LatestBuild.Transition == t && w.LatestBuild.Job.Status == codersdk.ProvisionerJobStatusSucceeded
}

// changesParameters reports whether the inputs may change a workspace's parameter values.
func changesParameters(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, in *build.Inputs) (bool, error) {
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

// starting configures the start of a workspace.
type starting struct {
	in           *build.Inputs
	sure, noWait bool
	reason       string // of the build; "" means the command line
}

// startVersion returns the version on which a workspace starts: the active one when its policy requires that.
func startVersion(w codersdk.Workspace) uuid.UUID {
	if w.TemplateRequireActiveVersion || w.AutomaticUpdates == codersdk.AutomaticUpdatesAlways {
		return w.TemplateActiveVersionID
	}
	return w.LatestBuild.TemplateVersionID
}

// request returns the request that starts a workspace on a version. It waits for links that the version
// requires, and prompts for parameters.
func (s starting) request(ctx context.Context, a *command.Run, c *codersdk.Client, w codersdk.Workspace, version uuid.UUID,
) (req codersdk.CreateWorkspaceBuildRequest, err error) {
	if err := linkProviders(ctx, a, c, version, w.OwnerName); err != nil {
		return req, err
	}
	return build.Starter{App: a, Client: c, Inputs: s.in, Quiet: s.sure}.Request(ctx, w, version)
}

// start starts a workspace.
func start(ctx context.Context, a *command.Run, c *codersdk.Client, w codersdk.Workspace, s starting) error {
	req, err := s.request(ctx, a, c, w, startVersion(w))
	if err != nil {
		return err
	}
	if s.reason != "" {
		req.Reason = codersdk.CreateWorkspaceBuildReason(s.reason)
	}
	if s.noWait {
		b, err := c.CreateWorkspaceBuild(ctx, w.ID, req)
		if err != nil {
			return err
		}
		if b.ProvisionerWarning != "" {
			a.Warn(b.ProvisionerWarning)
		}
		_, err = fmt.Fprintf(a.Stdout, "Workspace %s is starting; follow it with 'coder logs %s -f'.\n", w.Name, w.Name)
		return err
	}
	if err := build.Run(ctx, a, c, w, req); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Stdout, "Workspace %s is started.\n", w.Name)
	return err
}

func stopCommand(a *command.Run) *command.Command {
	var sure bool
	return build.OnWorkspace(a, command.Command{
		Name: "stop", Args: "<workspace>",
		Short:   "Stop a workspace",
		Options: []*option.Option{command.Yes(&sure)},
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, _ []string) error {
		if alreadyIn(w, codersdk.WorkspaceTransitionStop) {
			_, err := fmt.Fprintf(a.Stdout, "Workspace %s is already stopped.\n", w.Name)
			return err
		}
		if err := a.Confirm("Stop workspace "+w.Name+"?", sure); err != nil {
			return err
		}
		w, err := build.Await(ctx, a, c, w)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err := ensureStopped(ctx, a, c, w); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "Stopped workspace %s.\n", w.Name)
		return err
	})
}

// ensureStopped stops a workspace, unless it is already stopped.
func ensureStopped(ctx context.Context, a *command.Run, c *codersdk.Client, w codersdk.Workspace) error {
	if alreadyIn(w, codersdk.WorkspaceTransitionStop) {
		return nil
	}
	return build.Run(ctx, a, c, w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
}

func restartCommand(a *command.Run) *command.Command {
	var in build.Inputs
	var sure bool
	return build.OnWorkspace(a, command.Command{
		Name: "restart", Args: "<workspace>",
		Short:   "Restart a workspace",
		Options: append([]*option.Option{command.Yes(&sure)}, in.BuildOptions()...),
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, _ []string) error {
		if err := a.Confirm("Restart workspace "+w.Name+"?", sure); err != nil {
			return err
		}
		w, err := build.Await(ctx, a, c, w)
		if err != nil && ctx.Err() != nil {
			return err
		}
		req, err := starting{in: &in, sure: sure}.request(ctx, a, c, w, startVersion(w)) // before the workspace is stopped
		if err != nil {
			return err
		}
		if err := ensureStopped(ctx, a, c, w); err != nil {
			return err
		}
		if err := build.Run(ctx, a, c, w, req); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "Workspace %s is restarted.\n", w.Name)
		return err
	})
}

func updateCommand(a *command.Run) *command.Command {
	var in build.Inputs
	return build.OnWorkspace(a, command.Command{
		Name: "update", Args: "<workspace>",
		Short:   "Update a workspace to the active version of its template and start it",
		Long:    "A running workspace is stopped first. Parameters keep their values; new parameters are prompted for.",
		Options: in.BuildOptions(),
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, _ []string) error {
		w, err := build.Await(ctx, a, c, w)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if !w.Outdated && !in.Given() {
			_, err := fmt.Fprintf(a.Stdout, "Workspace %s is already on the active version.\n", w.Name)
			return err
		}
		req, err := starting{in: &in}.request(ctx, a, c, w, w.TemplateActiveVersionID)
		if err != nil {
			return err
		}
		if w.LatestBuild.Transition == codersdk.WorkspaceTransitionStart {
			if err := build.Run(ctx, a, c, w, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop}); err != nil {
				return err
			}
		}
		if err := build.Run(ctx, a, c, w, req); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "Updated workspace %s.\n", w.Name)
		return err
	})
}
