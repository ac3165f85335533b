package scaletest

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// DeleteWorkspaces returns tasks that delete workspaces and wait for the end of
// their delete builds.
func DeleteWorkspaces(c *codersdk.Client, all []codersdk.Workspace) []Task {
	out := make([]Task, len(all))
	for i, w := range all {
		out[i] = Task{Name: w.OwnerName + "/" + w.Name, Do: func(ctx context.Context, r *Recorder) error {
			began := time.Now()
			var err error
			if w.LatestBuild.Transition != codersdk.WorkspaceTransitionDelete || w.LatestBuild.Job.CompletedAt != nil {
				w.LatestBuild, err = c.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionDelete})
				if err != nil {
					return fmt.Errorf("delete workspace: %w", err)
				}
			}
			if _, err = awaitBuild(ctx, c, w); err == nil {
				r.Observe("delete workspace", time.Since(began))
			}
			return err
		}}
	}
	return out
}

// DeleteUsers returns tasks that delete users.
func DeleteUsers(c *codersdk.Client, all []codersdk.User) []Task {
	out := make([]Task, len(all))
	for i, u := range all {
		out[i] = Task{Name: u.Username, Do: func(ctx context.Context, r *Recorder) error {
			began := time.Now()
			if err := c.DeleteUser(ctx, u.ID.String()); err != nil {
				return fmt.Errorf("delete user: %w", err)
			}
			r.Observe("delete user", time.Since(began))
			return nil
		}}
	}
	return out
}
