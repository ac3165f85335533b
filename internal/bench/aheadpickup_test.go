package bench

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/bench/seed"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/server/database"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// Rounds of pickupBesidePlans, each with and without plans ahead.
const (
	besideRounds  = 6
	besideBuilds  = 50                     // of a round
	besidePace    = 200 * time.Millisecond // between requests
	besideStopped = 400                    // workspaces to plan, more than a round plans
	besideWarmUp  = 5                      // builds before a round that do not count
)

var coderBinary = flag.String("coder", "", "path of coder of BenchmarkPickupBesidePlans")

// BenchmarkPickupBesidePlans prints the rows of pickupBesidePlans.
func BenchmarkPickupBesidePlans(b *testing.B) {
	for b.Loop() {
		rows, err := pickupBesidePlans(b.Context(), *coderBinary)
		if err != nil {
			b.Fatal(err)
		}
		for _, r := range rows {
			r.Print(os.Stdout)
		}
	}
}

// stopClones makes the copies of a workspace stopped ones.
const stopClones = `UPDATE workspace_builds SET transition = 'stop'
WHERE workspace_id IN (SELECT id FROM workspaces WHERE template_id = $1 AND id <> $2)`

// pickupBesidePlans measures the time from a build request to the provisioner's first log line while
// the server plans ahead without a pause, and without plans ahead. Rounds of both alternate, so
// that other programs of the machine slow both down.
func pickupBesidePlans(ctx context.Context, bin string) ([]row, error) {
	dir, err := os.MkdirTemp("", "coder-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	s, err := newServer(ctx, bin, dir, "--provisioner-types", "terraform,echo")
	if err != nil {
		return nil, err
	}
	defer func() { s.stop() }()
	w, err := echoWorkspace(ctx, s)
	if err != nil {
		return nil, err
	}
	if err := s.stopped(ctx, besideStopped); err != nil {
		return nil, err
	}
	var without, beside []time.Duration
	plans := 0
	for range besideRounds {
		off, _, err := s.pickups(ctx, w, 0)
		if err != nil {
			return nil, err
		}
		on, n, err := s.pickups(ctx, w, besideStopped)
		if err != nil {
			return nil, err
		}
		without, beside, plans = append(without, off...), append(beside, on...), plans+n
	}
	return []row{
		figure.Plain("plans_beside_pickups", float64(plans), "plans"),
		figure.Plain("pickup_without_plans_p50", ms(quantile(without, 0.5)), "ms"),
		figure.Plain("pickup_without_plans_p99", ms(quantile(without, 0.99)), "ms"),
		figure.Plain("pickup_beside_plans_p50", ms(quantile(beside, 0.5)), "ms"),
		atMost("pickup_beside_plans_p99", ms(quantile(beside, 0.99)), 200, "ms"),
	}, nil
}

// stopped creates stopped workspaces of Template.
func (s *server) stopped(ctx context.Context, n int) error {
	w, _, err := s.pair(ctx, "beside")
	if err != nil {
		return err
	}
	store, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer store.Close()
	if _, err := seed.Workspaces(ctx, store, w.ID, n, false); err != nil {
		return err
	}
	_, err = store.Pool().Exec(ctx, stopClones, w.TemplateID, w.ID)
	return err
}

// open opens the database of the server.
func (s *server) open(ctx context.Context) (*postgres.Store, error) {
	url, err := database.EmbeddedURL(filepath.Join(s.dir, "config"))
	if err != nil {
		return nil, err
	}
	return postgres.Open(ctx, postgres.Config{URL: url, MaxOpen: 1, MaxIdle: 1})
}

// pickups restarts the server with a number of plans ahead and measures builds. With plans, it
// begins once the server plans, and returns how many plans the server made meanwhile.
func (s *server) pickups(ctx context.Context, w codersdk.Workspace, plans int) (took []time.Duration, made int, err error) {
	s.stop()
	if err := s.start(ctx, "--provisioner-types", "terraform,echo", "--workspace-plans-ahead", strconv.Itoa(plans)); err != nil {
		return nil, 0, err
	}
	store, err := s.open(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer store.Close()
	count := func(ctx context.Context) (n int, err error) {
		err = store.Pool().QueryRow(ctx, `SELECT count(*) FROM workspace_plans WHERE octet_length(plan) > 0`).Scan(&n)
		return n, err
	}
	before := 0
	for i := range besideWarmUp + besideBuilds {
		if i == besideWarmUp && plans > 0 {
			err := lifecycle.Poll(ctx, 50*time.Millisecond, nil, func(ctx context.Context) (bool, error) {
				before, err = count(ctx)
				return before > 0, err
			})
			if err != nil {
				return nil, 0, err
			}
		}
		first, _, err := s.build(ctx, w, codersdk.WorkspaceTransitionStart)
		if err != nil {
			return nil, 0, err
		}
		if i >= besideWarmUp {
			took = append(took, first)
		}
		testwait.Pause(besidePace)
	}
	made, err = count(ctx)
	return took, made - before, err
}
