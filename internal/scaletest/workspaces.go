package scaletest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// statusInterval is the interval between two requests for the state of a build
// or agent.
const statusInterval = 250 * time.Millisecond

// pageSize is the number of workspaces or users that one request lists.
const pageSize = 100

// Creation creates workspaces.
type Creation struct {
	Client     *codersdk.Client
	Template   codersdk.Template
	Parameters []codersdk.WorkspaceBuildParameter
	// OwnWorkspaces makes the caller the owner of all workspaces. Otherwise each
	// workspace has a new user without a way to sign in.
	OwnWorkspaces bool
}

// Tasks returns one task for each of count workspaces. A task succeeds when the
// build has succeeded and all agents are ready.
func (c Creation) Tasks(count int) []Task {
	suffix := make([]byte, 3)
	_, _ = rand.Read(suffix) // never fails, see crypto/rand
	out := make([]Task, count)
	for i := range out {
		name := fmt.Sprintf("%s%d-%s", Prefix, i, hex.EncodeToString(suffix))
		out[i] = Task{Name: name, Do: func(ctx context.Context, r *Recorder) error { return c.create(ctx, r, name) }}
	}
	return out
}

// create creates one workspace, or continues with the one that an earlier
// attempt created.
func (c Creation) create(ctx context.Context, r *Recorder, name string) error {
	began := time.Now()
	owner := "me"
	if !c.OwnWorkspaces {
		owner = name
		_, err := c.Client.CreateUser(ctx, codersdk.CreateUserRequestWithOrgs{
			Username: name, Email: name + "@scaletest.invalid", LoginType: codersdk.LoginTypeNone,
			OrganizationIDs: []uuid.UUID{c.Template.OrganizationID},
		})
		if err != nil && !codersdk.Is(err, codersdk.CodeConflict) {
			return fmt.Errorf("create user: %w", err)
		}
		r.Observe("create user", time.Since(began))
	}
	asked := time.Now()
	w, err := c.Client.CreateWorkspace(ctx, owner, codersdk.CreateWorkspaceRequest{
		Name: name, TemplateID: c.Template.ID, RichParameterValues: c.Parameters,
	})
	switch {
	case codersdk.Is(err, codersdk.CodeConflict):
		if w, err = c.startAgain(ctx, owner, name); err != nil {
			return fmt.Errorf("start workspace: %w", err)
		}
	case err != nil:
		return fmt.Errorf("create workspace: %w", err)
	}
	r.Observe("create workspace request", time.Since(asked))
	if w, err = awaitBuild(ctx, c.Client, w); err != nil {
		return err
	}
	job := w.LatestBuild.Job
	if job.StartedAt != nil && job.CompletedAt != nil {
		r.Observe("build wait in queue", job.StartedAt.Sub(job.CreatedAt))
		r.Observe("build", job.CompletedAt.Sub(*job.StartedAt))
	}
	built := time.Now()
	if err := awaitAgents(ctx, c.Client, w.ID); err != nil {
		return err
	}
	r.Observe("agent ready after build", time.Since(built))
	r.Observe("workspace ready", time.Since(began))
	return nil
}

// startAgain returns the workspace of an earlier attempt, with a new build if
// the latest one failed.
func (c Creation) startAgain(ctx context.Context, owner, name string) (codersdk.Workspace, error) {
	w, err := c.Client.WorkspaceByOwnerAndName(ctx, owner, name, nil)
	if err != nil || w.LatestBuild.Job.Status != codersdk.ProvisionerJobStatusFailed {
		return w, err
	}
	w.LatestBuild, err = c.Client.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart})
	return w, err
}

// awaitBuild waits for the end of the latest build of a workspace. It fails
// when the build does not succeed.
func awaitBuild(ctx context.Context, c *codersdk.Client, w codersdk.Workspace) (codersdk.Workspace, error) {
	err := lifecycle.Poll(ctx, statusInterval, nil, func(ctx context.Context) (bool, error) {
		b, err := c.WorkspaceBuild(ctx, w.LatestBuild.ID)
		w.LatestBuild = b
		return b.Job.CompletedAt != nil, err
	})
	if err != nil {
		return w, fmt.Errorf("wait for the build: %w", err)
	}
	if b := w.LatestBuild; b.Job.Status != codersdk.ProvisionerJobStatusSucceeded {
		return w, fmt.Errorf("the %s build %s: %s", b.Transition, b.Job.Status, b.Job.Error)
	}
	return w, nil
}

// awaitAgents waits until all agents of a workspace are connected and their
// startup scripts have ended.
func awaitAgents(ctx context.Context, c *codersdk.Client, id uuid.UUID) error {
	state := "no agent"
	err := lifecycle.Poll(ctx, statusInterval, nil, func(ctx context.Context) (bool, error) {
		w, err := c.Workspace(ctx, id, nil)
		if err != nil {
			return false, err
		}
		for _, a := range agentsOf(w) {
			state = string(a.Status) + ", " + string(a.LifecycleState)
			if a.Status != codersdk.WorkspaceAgentStatusConnected || !finished(a.LifecycleState) {
				return false, nil
			}
			if a.LifecycleState != codersdk.WorkspaceAgentLifecycleReady {
				return false, fmt.Errorf("agent %s: %s", a.Name, a.LifecycleState)
			}
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the agent (%s): %w", state, err)
	}
	return nil
}

// finished reports whether the startup scripts of an agent have ended.
func finished(s codersdk.WorkspaceAgentLifecycle) bool {
	return s != codersdk.WorkspaceAgentLifecycleCreated && s != codersdk.WorkspaceAgentLifecycleStarting
}

// agentsOf returns the agents of a workspace's latest build.
func agentsOf(w codersdk.Workspace) (out []codersdk.WorkspaceAgent) {
	for _, r := range w.LatestBuild.Resources {
		out = append(out, r.Agents...)
	}
	return out
}

// Workspaces returns the workspaces of scale tests, of one template unless
// template is "", in the order of their names' numbers.
func Workspaces(ctx context.Context, c *codersdk.Client, template string) ([]codersdk.Workspace, error) {
	q := "name:" + Prefix
	if template != "" {
		q += " template:" + template
	}
	var out []codersdk.Workspace
	for offset := 0; ; offset += pageSize {
		page, err := c.Workspaces(ctx, url.Values{"q": {q}, "limit": {strconv.Itoa(pageSize)}, "offset": {strconv.Itoa(offset)}})
		if err != nil {
			return nil, err
		}
		for _, w := range page.Workspaces {
			if strings.HasPrefix(w.Name, Prefix) {
				out = append(out, w)
			}
		}
		if len(page.Workspaces) < pageSize {
			return out, nil
		}
	}
}

// Users returns the users of scale tests.
func Users(ctx context.Context, c *codersdk.Client) ([]codersdk.User, error) {
	var out []codersdk.User
	for offset := 0; ; offset += pageSize {
		page, err := c.Users(ctx, url.Values{"q": {Prefix}, "limit": {strconv.Itoa(pageSize)}, "offset": {strconv.Itoa(offset)}})
		if err != nil {
			return nil, err
		}
		for _, u := range page.Users {
			if strings.HasPrefix(u.Username, Prefix) {
				out = append(out, u)
			}
		}
		if len(page.Users) < pageSize {
			return out, nil
		}
	}
}
