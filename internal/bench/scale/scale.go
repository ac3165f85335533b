// Package scale measures a server of the real binary under the load of many users: the load that Coder publishes
// for a machine of two cores, multiplied until a goal is missed; lists of a large deployment; and what one build,
// one page, one idle agent and one megabyte of SSH traffic cost. PostgreSQL, the provisioners, the agents and the
// load generator run on the same machine. Prometheus' library evaluates the alert rules on scrapes of each run.
package scale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/bench/rig"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// Published is the duration of the load that Coder publishes.
const Published = 30 * time.Minute

// Config configures the measurements.
type Config struct {
	Coder    string        // the binary
	Out      io.Writer     // the rows
	Progress io.Writer     // the name of the current measurement
	Only     string        // name of one measurement; "" means all
	Duration time.Duration // of the load of each level
	Factor   float64       // of the published load, at the first level
	Most     float64       // the largest factor
	Agents   int           // idle agents of which one's cost is measured
	// Workspaces is the number of workspaces in the lists.
	Workspaces int
	// Checker is the program promcheck, and Rules the alert rules; an empty Checker evaluates no alerts.
	Checker, Rules string
	// Costs is the file that receives the measured costs as JSON; "" writes none.
	Costs string
}

// Run measures everything and prints the rows.
func Run(ctx context.Context, c Config) error {
	fmt.Fprintf(c.Out, "# The load of each level lasts %s; the published duration is %s.\n", c.Duration, Published)
	fmt.Fprintln(c.Out, "# Other measurements: 2,000 idle agents (agents_2000_cpu, agent_server_memory) are rows of make bench-access,")
	fmt.Fprintln(c.Out, "# 200 provisioners that wait (queue_pickup_*) and 1,000 idle ones (queue_idle_daemon_*) of make bench-queue.")
	for _, m := range []struct {
		name    string
		measure func(context.Context, Config) error
	}{
		{"costs", costs}, {"lists", lists}, {"levels", levels}, {"fault", fault},
	} {
		if c.Only != "" && c.Only != m.name {
			continue
		}
		began := time.Now()
		if err := m.measure(ctx, c); err != nil {
			return fmt.Errorf("measure %s: %w", m.name, err)
		}
		fmt.Fprintf(c.Progress, "measured %s in %s\n", m.name, time.Since(began).Round(time.Second))
	}
	return nil
}

// deployment is a new rig with an open database.
type deployment struct {
	*rig.Rig
	store *postgres.Store
}

// with calls measure with a deployment that exists only for the call.
func with(ctx context.Context, c Config, measure func(*deployment) error) (err error) {
	dir, err := os.MkdirTemp("", "coder-scale-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	r, err := rig.New(ctx, rig.Config{Binary: c.Coder, Dir: dir})
	if err != nil {
		return err
	}
	defer r.Close()
	d := &deployment{Rig: r}
	if d.store, err = r.Store(ctx); err != nil {
		return err
	}
	defer d.store.Close()
	if err := measure(d); err != nil {
		b, _ := os.ReadFile(filepath.Join(dir, "server.log"))
		return errors.Join(err, fmt.Errorf("the end of the log:\n%s", b[max(0, len(b)-2000):]))
	}
	return nil
}

// print prints rows.
func (c Config) print(rows ...figure.Row) {
	for _, r := range rows {
		r.Print(c.Out)
	}
}
