package soak

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/scaletest"
)

// retryEvery is the interval of requests that are repeated until the server responds.
const retryEvery = 250 * time.Millisecond

// tracked is a workspace whose builds are tracked. Only its goroutine uses it while the load runs.
type tracked struct {
	id     uuid.UUID
	name   string
	number int32                        // of the last acknowledged build
	asked  codersdk.WorkspaceTransition // by that build
	builds []uuid.UUID                  // acknowledged
}

// keepBuilding stops and starts a workspace until load ends. It then waits for the build in progress, until ctx ends.
func (s *soak) keepBuilding(ctx, load context.Context, w *tracked) {
	for load.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, patience)
		if s.request(wait, w) == nil {
			_ = s.ended(wait, w.builds[len(w.builds)-1]) // check reports it
		}
		cancel()
		select {
		case <-time.After(s.Pause):
		case <-load.Done():
		}
	}
}

// request requests the other transition until the server acknowledges it. A request whose response was lost counts
// as acknowledged if the build exists.
func (s *soak) request(ctx context.Context, w *tracked) error {
	next := codersdk.WorkspaceTransitionStop
	if w.asked == codersdk.WorkspaceTransitionStop {
		next = codersdk.WorkspaceTransitionStart
	}
	return lifecycle.Poll(ctx, retryEvery, nil, func(ctx context.Context) (bool, error) {
		b, err := s.Client.CreateWorkspaceBuild(ctx, w.id, codersdk.CreateWorkspaceBuildRequest{Transition: next})
		if err != nil {
			now, err := s.Client.Workspace(ctx, w.id, nil)
			if err != nil || now.LatestBuild.BuildNumber <= w.number {
				return false, nil
			}
			b = now.LatestBuild
		}
		w.number, w.asked, w.builds = b.BuildNumber, b.Transition, append(w.builds, b.ID)
		return true, nil
	})
}

// ended waits for the end of a build.
func (s *soak) ended(ctx context.Context, build uuid.UUID) error {
	return lifecycle.Poll(ctx, retryEvery, nil, func(ctx context.Context) (bool, error) {
		b, err := s.Client.WorkspaceBuild(ctx, build)
		return err == nil && b.Job.CompletedAt != nil, nil
	})
}

// keepConnecting opens SSH sessions to the agents, one after the other. Kills end some of them.
func (s *soak) keepConnecting(ctx context.Context) {
	for ctx.Err() == nil {
		_ = s.echo(ctx, 5*time.Second) // run checks the agents at the end
		select {
		case <-time.After(s.Pause):
		case <-ctx.Done():
		}
	}
}

// echo sends bytes to all agents over SSH and back.
func (s *soak) echo(ctx context.Context, lasts time.Duration) error {
	t := scaletest.Traffic{Client: s.Client, Way: scaletest.WaySSH, BytesPerTick: 1000, TickInterval: 50 * time.Millisecond, Duration: lasts}
	r := scaletest.Run{Test: "echo", TaskTimeout: lasts + time.Minute}.Execute(ctx, t.Tasks(s.reached))
	if r.Failed > 0 {
		return fmt.Errorf("%s: %s", r.Failures[0].Task, r.Failures[0].Error)
	}
	for _, x := range r.Series {
		if x.Name == "echo" && x.Count > 0 {
			return nil
		}
	}
	return fmt.Errorf("no bytes came back within %s", lasts)
}

// reachAgents requires that all agents can be reached soon.
func (s *soak) reachAgents(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	err := lifecycle.Poll(ctx, retryEvery, nil, func(ctx context.Context) (bool, error) {
		for i, w := range s.reached { // agents have an ID of their own in each build
			if now, err := s.Client.Workspace(ctx, w.ID, nil); err == nil {
				s.reached[i] = now
			}
		}
		last = s.echo(ctx, 2*time.Second)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w; the last attempt: %w", err, last)
	}
	return nil
}

// keepReading sends the requests that a dashboard sends most. Failures while a process is away are expected.
func (s *soak) keepReading(ctx context.Context) {
	lifecycle.Every(ctx, 200*time.Millisecond, func(ctx context.Context) {
		_, _ = s.Client.Workspaces(ctx, url.Values{"q": {"owner:me"}, "limit": {"25"}})
		_, _ = s.Client.User(ctx, "me")
	})
}

// check compares what exists with what was acknowledged.
func (s *soak) check(ctx context.Context) error {
	for _, w := range s.built {
		s.result.Builds += len(w.builds)
		for _, id := range w.builds {
			b, err := s.Client.WorkspaceBuild(ctx, id)
			switch {
			case codersdk.Is(err, codersdk.CodeNotFound):
				s.result.Lost = append(s.result.Lost, fmt.Sprintf("workspace %s: the acknowledged build %s does not exist", w.name, id))
			case err != nil:
				return err
			case b.Job.CompletedAt == nil:
				s.result.Lost = append(s.result.Lost, fmt.Sprintf("workspace %s: build %d has not ended: %s", w.name, b.BuildNumber, b.Job.Status))
			case b.Job.Status != codersdk.ProvisionerJobStatusSucceeded:
				s.result.Failed = append(s.result.Failed,
					fmt.Sprintf("workspace %s: build %d is %s: %s", w.name, b.BuildNumber, b.Job.Status, b.Job.Error))
			}
		}
		now, err := s.Client.Workspace(ctx, w.id, nil)
		if err != nil {
			return err
		}
		if b := now.LatestBuild; b.BuildNumber != w.number || b.Transition != w.asked {
			s.result.Lost = append(s.result.Lost,
				fmt.Sprintf("workspace %s: the last build is %d (%s), the last acknowledged one %d (%s)", w.name, b.BuildNumber, b.Transition, w.number, w.asked))
		}
	}
	return nil
}
