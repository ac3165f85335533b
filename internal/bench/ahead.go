package bench

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// buildAhead measures a start that was planned ahead against the same template run by hand,
// and the time from its request to the start of the apply. Both alternate with a stop that is
// not counted, after which the server plans.
func buildAhead(ctx context.Context, s *server, runs int) ([]row, error) {
	s.stop()
	if err := s.start(ctx, "--provisioner-types", "terraform,echo", "--workspace-plans-ahead", "10"); err != nil {
		return nil, err
	}
	w, hand, err := s.pair(ctx, "ahead")
	if err != nil {
		return nil, err
	}
	var clicks []time.Duration
	var ratios []float64
	for range runs {
		if err := hand.Build(ctx, "stop"); err != nil {
			return nil, err
		}
		start := time.Now()
		if err := hand.Build(ctx, "start"); err != nil {
			return nil, err
		}
		floor := time.Since(start)
		planned, err := s.dryRuns(ctx)
		if err != nil {
			return nil, err
		}
		if _, _, err := s.build(ctx, w, codersdk.WorkspaceTransitionStop); err != nil {
			return nil, err
		}
		err = lifecycle.Poll(ctx, 200*time.Millisecond, nil, func(ctx context.Context) (bool, error) {
			n, err := s.dryRuns(ctx)
			return n > planned, err
		})
		if err != nil {
			return nil, err
		}
		click, all, err := s.startPlanned(ctx, w)
		if err != nil {
			return nil, err
		}
		clicks, ratios = append(clicks, click), append(ratios, float64(all)/float64(floor))
	}
	slices.Sort(ratios)
	return []row{
		atMost("build_ahead_over_bare_terraform", ratios[len(ratios)/2], 0.25, "x"),
		atMost("click_to_apply_p50", ms(quantile(clicks, 0.5)), 100, "ms"),
	}, nil
}

// dryRuns returns the time of the last dry run that succeeded, in milliseconds.
func (s *server) dryRuns(ctx context.Context) (last int64, err error) {
	jobs, err := s.c.ProvisionerJobs(ctx, "default", url.Values{"status": {"succeeded"}, "limit": {"20"}})
	for _, j := range jobs {
		if j.Type == codersdk.ProvisionerJobTypeTemplateVersionDryRun && j.CompletedAt != nil {
			last = max(last, j.CompletedAt.UnixMilli())
		}
	}
	return last, err
}

// startPlanned starts a workspace whose start was planned. It returns the time until the apply
// and until the end.
func (s *server) startPlanned(ctx context.Context, w codersdk.Workspace) (click, all time.Duration, err error) {
	start := time.Now()
	b, err := s.c.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart})
	if err != nil {
		return 0, 0, err
	}
	again := false
	err = codersdk.Follow(ctx, s.c, "/workspacebuilds/"+b.ID.String()+"/logs", url.Values{"follow": {""}}, func(l codersdk.ProvisionerJobLog) error {
		again = again || l.Stage == "Planning"
		if l.Stage == "Applying" && click == 0 {
			click = l.CreatedAt.Sub(start)
		}
		return nil
	})
	if again {
		err = errors.Join(err, errors.New("the start did not use its plan"))
	}
	return click, time.Since(start), err
}
