// Package build is what several families do with workspaces: find one by the
// name that people use, with its template and version; decide the values of
// parameters from flags, files, presets and questions; run a build and follow
// it until it is done.
//
// A name is [owner/]workspace[.agent]. A parameter's value is the first that is
// there of: the preset, the flags, the file, the build before; the template's
// default or a question decides the rest, and without a terminal nothing is
// asked.
package build

import (
	"context"
	"fmt"
	"net/url"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
)

// Follow shows the log of a build until it is finished.
func Follow(ctx context.Context, a *app.Run, c *client.Client, b coder.WorkspaceBuild) error {
	id := b.ID
	err := a.Follow(ctx, app.Watch{
		Client: c, Logs: "/workspacebuilds/" + id.String() + "/logs",
		Job: func(ctx context.Context) (coder.ProvisionerJob, error) {
			now, err := c.WorkspaceBuild(ctx, id)
			return now.Job, err
		},
		Warning: b.ProvisionerWarning,
		GoesOn:  "The build goes on; 'coder logs " + b.WorkspaceName + " -f' shows it.",
	})
	if err != nil {
		return fmt.Errorf("%s of workspace %s: %w", b.Transition, b.WorkspaceName, err)
	}
	return nil
}

// build starts a build and follows it.
func Run(ctx context.Context, a *app.Run, c *client.Client, w coder.Workspace, req coder.CreateWorkspaceBuildRequest) error {
	if req.Reason == "" {
		req.Reason = coder.CreateWorkspaceBuildReasonCLI
	}
	b, err := c.CreateWorkspaceBuild(ctx, w.ID, req)
	if err != nil {
		return err
	}
	return Follow(ctx, a, c, b)
}

// Await follows the unfinished build of a workspace, if there is one, and
// gives the workspace as it is then.
func Await(ctx context.Context, a *app.Run, c *client.Client, w coder.Workspace) (coder.Workspace, error) {
	if app.Finished(w.LatestBuild.Job.Status) {
		return w, nil
	}
	fmt.Fprintf(a.Stderr, "Waiting for the build of %s that is under way.\n", w.Name)
	if err := Follow(ctx, a, c, w.LatestBuild); err != nil {
		return w, err
	}
	return c.Workspace(ctx, w.ID, nil)
}

// FollowAgent reads the log of an agent as it grows.
func FollowAgent(ctx context.Context, c *client.Client, agent uuid.UUID, each func([]coder.WorkspaceAgentLog)) error {
	return client.Follow(ctx, c, "/workspaceagents/"+agent.String()+"/logs", url.Values{"follow": {"true"}}, func(lines []coder.WorkspaceAgentLog) error {
		each(lines)
		return nil
	})
}

// StartRequest is a start on a version, with its parameters.
func StartRequest(ctx context.Context, a *app.Run, c *client.Client, w coder.Workspace, version uuid.UUID, in *Inputs, sure bool) (coder.CreateWorkspaceBuildRequest, error) {
	req := coder.CreateWorkspaceBuildRequest{Transition: coder.WorkspaceTransitionStart, TemplateVersionID: version, Reason: coder.CreateWorkspaceBuildReasonCLI}
	before, err := c.WorkspaceBuildParameters(ctx, w.LatestBuild.ID)
	if err != nil {
		return req, err
	}
	r := Resolver{App: a, Form: FormOf(ctx, c, version, w.OwnerID), In: in, Quiet: sure, before: before}
	req.RichParameterValues, err = r.Resolve()
	return req, err
}
