package scale

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/bench/seed"
	"github.com/seed-2a7f8fe7/coder/internal/scaletest"
)

// The load of one published user, connection and build.
const (
	bytesPerTick = 4000
	tickInterval = 100 * time.Millisecond // 40 KB/s
	pageInterval = time.Minute            // mean, between two pages of a user
	buildTime    = 20 * time.Second       // of a simulated apply
)

// staggered spreads the start of tasks evenly over a period.
func staggered(tasks []scaletest.Task, over time.Duration) []scaletest.Task {
	out := make([]scaletest.Task, len(tasks))
	for i, t := range tasks {
		wait := over * time.Duration(i) / time.Duration(len(tasks))
		out[i] = scaletest.Task{Name: t.Name, Do: func(ctx context.Context, r *scaletest.Recorder) error {
			select {
			case <-time.After(wait):
				return t.Do(ctx, r)
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
	}
	return out
}

// sshTraffic returns one task for each copy of a workspace.
func sshTraffic(c *codersdk.Client, copies []seed.Clone, lasts time.Duration) []scaletest.Task {
	all := make([]codersdk.Workspace, len(copies))
	for i, w := range copies {
		all[i] = w.Workspace
	}
	t := scaletest.Traffic{Client: c, Way: scaletest.WaySSH, BytesPerTick: bytesPerTick, TickInterval: tickInterval, Duration: lasts}
	return t.Tasks(all)
}

// pages returns one task for each owner of a copy, who opens pages of the dashboard.
func pages(c *codersdk.Client, copies []seed.Clone, interval, lasts time.Duration) []scaletest.Task {
	all := make([]codersdk.User, len(copies))
	for i, w := range copies {
		all[i].ID, all[i].Username = w.Workspace.OwnerID, w.Workspace.OwnerName
	}
	return scaletest.Dashboard{Client: c, Interval: interval, Duration: lasts}.Tasks(all)
}

// builds returns one task for each workspace, which stops and starts it until the end. The last build ends later.
func builds(d *deployment, copies []seed.Clone, lasts time.Duration) []scaletest.Task {
	out := make([]scaletest.Task, len(copies))
	for i, w := range copies {
		out[i] = scaletest.Task{Name: w.Workspace.Name, Do: func(ctx context.Context, r *scaletest.Recorder) error {
			end := time.Now().Add(lasts)
			for n := 0; time.Now().Before(end); n++ {
				transition := []codersdk.WorkspaceTransition{codersdk.WorkspaceTransitionStop, codersdk.WorkspaceTransitionStart}[n%2]
				began := time.Now()
				b, err := d.Build(ctx, w.Workspace.ID, transition)
				if err != nil {
					return err
				}
				r.Observe("build", time.Since(began))
				if b.Job.StartedAt != nil {
					r.Observe("pick-up", b.Job.StartedAt.Sub(b.Job.CreatedAt))
				}
			}
			return nil
		}}
	}
	return out
}

// series returns the series of a report, empty if nothing was measured.
func series(r scaletest.Report, name string) scaletest.Series {
	for _, s := range r.Series {
		if s.Name == name {
			return s
		}
	}
	return scaletest.Series{}
}

// total returns a total of a report.
func total(r scaletest.Report, name string) float64 {
	for _, t := range r.Totals {
		if t.Name == name {
			return float64(t.Value)
		}
	}
	return 0
}

// quantiles returns the rows of a series. The goals are those of something that a user waits for.
func quantiles(name string, s scaletest.Series) []figure.Row {
	return []figure.Row{
		figure.AtMost(name+"_p50", s.P50, 200, "ms"), figure.AtMost(name+"_p95", s.P95, 500, "ms"), figure.AtMost(name+"_p99", s.P99, 1000, "ms"),
	}
}

// reasons lists why tasks of a report failed.
func (c Config) reasons(what string, r scaletest.Report) {
	for _, f := range r.Failures {
		fmt.Fprintf(c.Out, "# %s: %d failed, first %s: %s\n", what, f.Count, f.Task, f.Error)
	}
}
