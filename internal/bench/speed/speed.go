// Package speed measures how long a user waits for the product: for a job to be picked up, a workspace, a
// session after a pause. It prints one line per row (see package figure), with floors of the same run.
package speed

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench"
	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
	"github.com/seed-2a7f8fe7/coder/internal/bench/rig"
)

// Config configures the measurements.
type Config struct {
	Coder    string    // the binary
	Root     string    // the repository, for its templates
	Out      io.Writer // the rows
	Progress io.Writer // the name of the current measurement
	Only     string    // name of one measurement; "" means all
	Claims   int       // claims of prebuilt workspaces
}

// measurement is a group of rows that are measured together, with servers of its own.
type measurement struct {
	name string
	rows func(context.Context, Config) ([]figure.Row, error)
}

// measurements are in the order in which they run.
var measurements = []measurement{
	{"pick-up", func(ctx context.Context, c Config) ([]figure.Row, error) { return bench.PickUp(ctx, c.Coder) }},
	{"claim", deployed(claimRows, 2)},
	{"form", deployed(formRows, 1)},
	{"clone", cloneRows},
}

// deployed returns a measurement with a server and a provisioner of its own, with a number of slots.
func deployed(rows func(context.Context, Config, *rig.Rig) ([]figure.Row, error), slots int) func(context.Context, Config) ([]figure.Row, error) {
	return func(ctx context.Context, c Config) ([]figure.Row, error) {
		dir, err := os.MkdirTemp("", "coder-speed-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		r, err := rig.New(ctx, rig.Config{Binary: c.Coder, Dir: dir})
		if err != nil {
			return nil, err
		}
		defer r.Close()
		provisioner, err := r.StartProvisioner("provisioner", slots)
		if err != nil {
			return nil, err
		}
		defer rig.Terminate(provisioner)
		return rows(ctx, c, r)
	}
}

// Run runs all measurements, or only c.Only, and prints the rows of each when it has ended.
func Run(ctx context.Context, c Config) error {
	var err error
	if c.Coder, err = filepath.Abs(c.Coder); err != nil {
		return err
	}
	if c.Root, err = filepath.Abs(c.Root); err != nil {
		return err
	}
	for _, m := range measurements {
		if c.Only != "" && c.Only != m.name {
			continue
		}
		began := time.Now()
		rows, err := m.rows(ctx, c)
		for _, r := range rows {
			r.Print(c.Out)
		}
		if err != nil {
			return fmt.Errorf("measure %s: %w", m.name, err)
		}
		fmt.Fprintf(c.Progress, "measured %s in %s\n", m.name, time.Since(began).Round(time.Second))
	}
	return nil
}
