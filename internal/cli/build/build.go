// Package build holds what several command groups do with workspaces: find a
// workspace by name, with its template and version; resolve parameter values
// from flags, files, presets and prompts; start a build and follow it.
//
// A workspace name is [owner/]workspace[.agent]. The value of a parameter comes
// from the first of: the preset, the flags, the file, the previous build.
// Otherwise the user is prompted, or the template's default applies. Without a
// terminal nothing is prompted.
package build

import (
	"context"
	"fmt"
	"net/url"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// Follow prints the log of a build until the build is finished.
func Follow(ctx context.Context, a *command.Run, c *codersdk.Client, b codersdk.WorkspaceBuild) error {
	id := b.ID
	err := a.Follow(ctx, command.Watch{
		Client: c, Logs: "/workspacebuilds/" + id.String() + "/logs",
		Job: func(ctx context.Context) (codersdk.ProvisionerJob, error) {
			now, err := c.WorkspaceBuild(ctx, id)
			return now.Job, err
		},
		Warning: b.ProvisionerWarning,
		GoesOn:  "The build continues; 'coder logs " + b.WorkspaceName + " -f' follows it.",
	})
	if err != nil {
		return fmt.Errorf("%s of workspace %s: %w", b.Transition, b.WorkspaceName, err)
	}
	return nil
}

// Run starts a build and follows it until it is finished.
func Run(ctx context.Context, a *command.Run, c *codersdk.Client, w codersdk.Workspace, req codersdk.CreateWorkspaceBuildRequest) error {
	if req.Reason == "" {
		req.Reason = codersdk.CreateWorkspaceBuildReasonCLI
	}
	b, err := c.CreateWorkspaceBuild(ctx, w.ID, req)
	if err != nil {
		return err
	}
	return Follow(ctx, a, c, b)
}

// Await follows the unfinished build of a workspace, if there is one, and
// returns the workspace as it is afterwards.
func Await(ctx context.Context, a *command.Run, c *codersdk.Client, w codersdk.Workspace) (codersdk.Workspace, error) {
	if command.Finished(w.LatestBuild.Job.Status) {
		return w, nil
	}
	fmt.Fprintf(a.Stderr, "Waiting for the current build of %s.\n", w.Name)
	if err := Follow(ctx, a, c, w.LatestBuild); err != nil {
		return w, err
	}
	return c.Workspace(ctx, w.ID, nil)
}

// FollowAgent streams the log of an agent and calls each for every line.
func FollowAgent(ctx context.Context, c *codersdk.Client, agent uuid.UUID, each func([]codersdk.WorkspaceAgentLog)) error {
	return codersdk.Follow(ctx, c, "/workspaceagents/"+agent.String()+"/logs", url.Values{"follow": {"true"}}, func(lines []codersdk.WorkspaceAgentLog) error {
		each(lines)
		return nil
	})
}

// Starter prepares starts of workspaces.
type Starter struct {
	App    *command.Run
	Client *codersdk.Client
	Inputs *Inputs
	Quiet  bool // nothing is asked
}

// Request returns the request that starts a workspace on a version, with the
// resolved parameter values.
func (s Starter) Request(ctx context.Context, w codersdk.Workspace, version uuid.UUID) (codersdk.CreateWorkspaceBuildRequest, error) {
	req := codersdk.CreateWorkspaceBuildRequest{
		Transition: codersdk.WorkspaceTransitionStart, TemplateVersionID: version, Reason: codersdk.CreateWorkspaceBuildReasonCLI,
	}
	before, err := s.Client.WorkspaceBuildParameters(ctx, w.LatestBuild.ID)
	if err != nil {
		return req, err
	}
	r := Resolver{App: s.App, Form: FormOf(ctx, s.Client, version, w.OwnerID), In: s.Inputs, Quiet: s.Quiet, before: before}
	req.RichParameterValues, err = r.Resolve()
	return req, err
}
