package scaletest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// errSeen ends a watch.
var errSeen = errors.New("the change was seen")

// Updates returns tasks that stop and start workspaces. Each measures how long
// after the end of a build a watcher of the workspace receives it. The clocks of
// the server and of this machine must agree.
func Updates(c *codersdk.Client, all []codersdk.Workspace) []Task {
	out := make([]Task, len(all))
	for i, w := range all {
		out[i] = Task{Name: w.OwnerName + "/" + w.Name, Do: func(ctx context.Context, r *Recorder) error {
			for _, transition := range []codersdk.WorkspaceTransition{codersdk.WorkspaceTransitionStop, codersdk.WorkspaceTransitionStart} {
				if err := changeAndWatch(ctx, c, r, w, transition); err != nil {
					return fmt.Errorf("%s: %w", transition, err)
				}
			}
			return nil
		}}
	}
	return out
}

// changeAndWatch creates a build and waits until the watcher sees its end.
func changeAndWatch(ctx context.Context, c *codersdk.Client, r *Recorder, w codersdk.Workspace, transition codersdk.WorkspaceTransition) error {
	var number int32
	asked := time.Now()
	err := codersdk.Follow(ctx, c, "/workspaces/"+w.ID.String()+"/watch-ws", url.Values{}, func(e codersdk.ServerSentEvent) error {
		if e.Type == codersdk.ServerSentEventTypeError {
			return fmt.Errorf("the watch ended: %s", e.Data)
		}
		if number == 0 { // the watch has started
			b, err := c.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: transition})
			if err != nil {
				return err
			}
			number, asked = b.BuildNumber, time.Now()
		}
		if e.Type != codersdk.ServerSentEventTypeData {
			return nil
		}
		var now codersdk.Workspace
		if err := json.Unmarshal(e.Data, &now); err != nil {
			return err
		}
		b := now.LatestBuild
		if b.BuildNumber != number || b.Job.CompletedAt == nil {
			return nil
		}
		if b.Job.Status != codersdk.ProvisionerJobStatusSucceeded {
			return fmt.Errorf("the build %s: %s", b.Job.Status, b.Job.Error)
		}
		r.Observe(string(transition)+" build", time.Since(asked))
		r.Observe("update after build", time.Since(*b.Job.CompletedAt))
		return errSeen
	})
	if errors.Is(err, errSeen) {
		return nil
	}
	if err == nil {
		err = errors.New("the server closed the watch")
	}
	return err
}
