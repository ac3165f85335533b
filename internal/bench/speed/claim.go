package speed

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/bench/rig"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

const (
	pooled = 20 // prebuilt workspaces that wait at the same time
	traced = 20 // claims through the proxy that times requests
)

// preset is added to the local template.
var preset = fmt.Sprintf(`data "coder_workspace_preset" "ready" {
  name       = "Ready"
  parameters = { repository = "", niceness = "0" }
  prebuilds { instances = %d }
}
`, pooled)

// shelf is a deployment with prebuilt workspaces of the local template.
type shelf struct {
	*rig.Rig
	waiting []uuid.UUID // prebuilt workspaces that can be claimed
}

// claimRows measures the time from the start of coder create, which claims a prebuilt
// workspace, to the end of the first coder ssh. One claim runs at a time: the next one
// starts when the build of the last one has ended. Other claims through a proxy show
// where the time goes.
func claimRows(ctx context.Context, c Config, r *rig.Rig) (rows []figure.Row, err error) {
	s := &shelf{Rig: r}
	if err := s.push(ctx, c.Root); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.clear(context.WithoutCancel(ctx))) }()
	var creates, sessions, both []time.Duration
	for range c.Claims {
		t, err := s.claim(ctx, r.Client.URL)
		if err != nil {
			return nil, err
		}
		creates = append(creates, t.created.Sub(t.start))
		sessions = append(sessions, t.end.Sub(t.created))
		both = append(both, t.end.Sub(t.start))
	}
	if err := s.trace(ctx, c); err != nil {
		return nil, err
	}
	return []figure.Row{
		figure.AtMost("claim_to_ssh_p50", figure.Milliseconds(figure.Quantile(both, 0.5)), 300, "ms"),
		figure.AtMost("claim_to_ssh_p99", figure.Milliseconds(figure.Quantile(both, 0.99)), 1000, "ms"),
		figure.Plain("claim_create_p50", figure.Milliseconds(figure.Quantile(creates, 0.5)), "ms"),
		figure.Plain("claim_ssh_p50", figure.Milliseconds(figure.Quantile(sessions, 0.5)), "ms"),
	}, nil
}

// push creates the template.
func (s *shelf) push(ctx context.Context, root string) error {
	template := filepath.Join(s.Dir, "template")
	if err := os.CopyFS(template, os.DirFS(filepath.Join(root, "examples/templates/local"))); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(template, "preset.tf"), []byte(preset), 0o600); err != nil {
		return err
	}
	return s.Run(ctx, "templates", "push", "local", "--directory", template, "--yes")
}

// times are those of one claim: coder create begins, coder create ends and coder ssh
// begins, coder ssh ends.
type times struct{ start, created, end time.Time }

// claim claims a workspace with the server at u and deletes it.
func (s *shelf) claim(ctx context.Context, u *url.URL) (t times, err error) {
	if err := s.fill(ctx); err != nil {
		return t, err
	}
	const name = "ws"
	t.start = time.Now()
	if err := s.Run(ctx, "--url", u.String(), "create", name, "--template", "local", "--preset", "Ready", "--use-parameter-defaults", "--yes"); err != nil {
		return t, err
	}
	t.created = time.Now()
	if err := s.Run(ctx, "--url", u.String(), "ssh", name, "true"); err != nil {
		return t, err
	}
	t.end = time.Now()
	w, err := s.Client.WorkspaceByOwnerAndName(ctx, "me", name, nil)
	if err != nil {
		return t, err
	}
	i := slices.Index(s.waiting, w.ID)
	if i < 0 {
		return t, errors.New("coder create did not claim a prebuilt workspace")
	}
	s.waiting = slices.Delete(s.waiting, i, i+1)
	if _, err := s.Await(ctx, w.LatestBuild.ID); err != nil {
		return t, err
	}
	_, err = s.Build(ctx, w.ID, codersdk.WorkspaceTransitionDelete)
	return t, err
}

// fill waits for prebuilt workspaces if none is left, and keeps more from being built
// while these are claimed.
func (s *shelf) fill(ctx context.Context) error {
	if len(s.waiting) > 0 {
		return nil
	}
	if err := s.Client.UpdatePrebuildsSettings(ctx, codersdk.PrebuildsSettings{ReconciliationPaused: false}); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	err := lifecycle.Poll(limited, 200*time.Millisecond, nil, func(ctx context.Context) (bool, error) {
		out, err := s.Client.Workspaces(ctx, url.Values{"q": {"owner:prebuilds"}})
		if err != nil {
			return false, err
		}
		s.waiting = s.waiting[:0]
		for _, w := range out.Workspaces {
			if claimable(w) {
				s.waiting = append(s.waiting, w.ID)
			}
		}
		return len(s.waiting) == pooled, nil
	})
	if err != nil {
		return fmt.Errorf("wait for prebuilt workspaces, of which %d are ready: %w", len(s.waiting), err)
	}
	return s.Client.UpdatePrebuildsSettings(ctx, codersdk.PrebuildsSettings{ReconciliationPaused: true})
}

func claimable(w codersdk.Workspace) bool {
	for _, r := range w.LatestBuild.Resources {
		for _, a := range r.Agents {
			return a.Status == codersdk.WorkspaceAgentStatusConnected && a.LifecycleState == codersdk.WorkspaceAgentLifecycleReady
		}
	}
	return false
}

// clear deletes all workspaces, whose agents would stay otherwise.
func (s *shelf) clear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if err := s.Client.UpdatePrebuildsSettings(ctx, codersdk.PrebuildsSettings{ReconciliationPaused: true}); err != nil {
		return err
	}
	out, err := s.Client.Workspaces(ctx, nil)
	if err != nil {
		return err
	}
	for _, w := range out.Workspaces {
		if w.LatestBuild.Job.CompletedAt == nil {
			if _, err := s.Await(ctx, w.LatestBuild.ID); err != nil {
				return err
			}
		}
		if _, err := s.Build(ctx, w.ID, codersdk.WorkspaceTransitionDelete); err != nil {
			return err
		}
	}
	return nil
}
