package cli

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func (a *app) startCommand() *command {
	var in inputs
	var noWait, sure bool
	options := append([]*option.Option{
		option.Bool(&noWait, "no-wait", "Return at once instead of following the build."), yes(&sure),
	}, in.buildOptions()...)
	return a.simple(command{
		name: "start", args: "<workspace>",
		short:   "Start a workspace.",
		options: options,
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		w, err := a.awaitBuild(ctx, c, w)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if w.LatestBuild.Transition == coder.WorkspaceTransitionStart && w.LatestBuild.Job.Status == coder.ProvisionerJobStatusSucceeded {
			_, err := fmt.Fprintf(a.stdout, "The workspace %s runs already.\n", w.Name)
			return err
		}
		return a.start(ctx, c, w, &in, sure, noWait, "started")
	})
}

// start starts a workspace, on the active version when it must be or follows it.
func (a *app) start(ctx context.Context, c *client.Client, w coder.Workspace, in *inputs, sure, noWait bool, done string) error {
	version := w.LatestBuild.TemplateVersionID
	if w.TemplateRequireActiveVersion || w.AutomaticUpdates == coder.AutomaticUpdatesAlways {
		version = w.TemplateActiveVersionID
	}
	req, err := a.startRequest(ctx, c, w, version, in, sure)
	if err != nil {
		return err
	}
	if noWait {
		if _, err := c.CreateWorkspaceBuild(ctx, w.ID, req); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.stdout, "The workspace %s starts; 'coder logs %s -f' shows it.\n", w.Name, w.Name)
		return err
	}
	if err := a.runBuild(ctx, c, w, req); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "The workspace %s is %s.\n", w.Name, done)
	return err
}

// startRequest is a start on a version, with its parameters.
func (a *app) startRequest(ctx context.Context, c *client.Client, w coder.Workspace, version uuid.UUID, in *inputs, sure bool) (coder.CreateWorkspaceBuildRequest, error) {
	req := coder.CreateWorkspaceBuildRequest{Transition: coder.WorkspaceTransitionStart, TemplateVersionID: version, Reason: coder.CreateWorkspaceBuildReasonCLI}
	defs, err := c.TemplateVersionParameters(ctx, version)
	if err != nil {
		return req, err
	}
	before, err := c.WorkspaceBuildParameters(ctx, w.LatestBuild.ID)
	if err != nil {
		return req, err
	}
	r := resolver{app: a, defs: defs, in: in, quiet: sure, before: before}
	req.RichParameterValues, err = r.resolve()
	return req, err
}

func (a *app) stopCommand() *command {
	var sure bool
	return a.simple(command{
		name: "stop", args: "<workspace>",
		short:   "Stop a workspace; what its template keeps stays.",
		options: []*option.Option{yes(&sure)},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		if err := a.confirm("Stop the workspace "+w.Name+"?", sure); err != nil {
			return err
		}
		w, err := a.awaitBuild(ctx, c, w)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err := a.runBuild(ctx, c, w, coder.CreateWorkspaceBuildRequest{Transition: coder.WorkspaceTransitionStop}); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "The workspace %s is stopped.\n", w.Name)
		return err
	})
}

func (a *app) restartCommand() *command {
	var in inputs
	var sure bool
	return a.simple(command{
		name: "restart", args: "<workspace>",
		short:   "Stop a workspace and start it again.",
		options: append([]*option.Option{yes(&sure)}, in.buildOptions()...),
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		if err := a.confirm("Restart the workspace "+w.Name+"?", sure); err != nil {
			return err
		}
		w, err := a.awaitBuild(ctx, c, w)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err := a.runBuild(ctx, c, w, coder.CreateWorkspaceBuildRequest{Transition: coder.WorkspaceTransitionStop}); err != nil {
			return err
		}
		if w, err = c.Workspace(ctx, w.ID, nil); err != nil {
			return err
		}
		return a.start(ctx, c, w, &in, sure, false, "restarted")
	})
}

func (a *app) updateCommand() *command {
	var in inputs
	return a.simple(command{
		name: "update", args: "<workspace>",
		short:   "Start a workspace on the active version of its template.",
		long:    "A workspace that runs is stopped first. Parameters keep their values; new ones are asked for.",
		options: in.buildOptions(),
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, _ []string) error {
		w, err := a.awaitBuild(ctx, c, w)
		if err != nil && ctx.Err() != nil {
			return err
		}
		if !w.Outdated && !in.alwaysPrompt && !in.promptEphemeral && len(in.parameters)+len(in.ephemeral) == 0 {
			_, err := fmt.Fprintf(a.stdout, "The workspace %s is on the active version already.\n", w.Name)
			return err
		}
		req, err := a.startRequest(ctx, c, w, w.TemplateActiveVersionID, &in, false)
		if err != nil {
			return err
		}
		if w.LatestBuild.Transition == coder.WorkspaceTransitionStart {
			if err := a.runBuild(ctx, c, w, coder.CreateWorkspaceBuildRequest{Transition: coder.WorkspaceTransitionStop}); err != nil {
				return err
			}
		}
		if err := a.runBuild(ctx, c, w, req); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "The workspace %s is updated.\n", w.Name)
		return err
	})
}
