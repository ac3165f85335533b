// Package bench measures the real binary on this machine: a server with its
// built-in PostgreSQL, real Terraform, a real agent, and beside each figure its
// floor from the same run. It prints one line per row,
//
//	name value goal ok|short
//
// and does not fail because of a poor figure: a slow machine is not a bug.
package bench

import (
	"fmt"
	"slices"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
)

// row is one measured figure and its goal.
type row = figure.Row

// atMost returns a row for which less is better.
func atMost(name string, value, goal float64, unit string) row {
	return figure.AtMost(name, value, goal, unit)
}

// atLeast returns a row for which more is better.
func atLeast(name string, value, goal float64, unit string) row {
	return figure.AtLeast(name, value, goal, unit)
}

// quantile returns the q-quantile (0 to 1) of ds, which it sorts.
func quantile(ds []time.Duration, q float64) time.Duration { return figure.Quantile(ds, q) }

// median returns the median of vs, which it sorts.
func median(vs []float64) float64 {
	slices.Sort(vs)
	return vs[len(vs)/2]
}

func ms(d time.Duration) float64 { return figure.Milliseconds(d) }

// measurement is a group of rows that are measured together.
type measurement struct {
	what    string // shown as progress
	measure func() ([]row, error)
}

// each runs the measurements one after the other, or only c.Only, reports
// progress, and prints all rows at the end, including those before a failed
// one.
func each(c Config, all ...measurement) error {
	var rows []row
	defer func() {
		for _, r := range rows {
			r.Print(c.Out)
		}
	}()
	for _, m := range all {
		if c.Only != "" && c.Only != m.what {
			continue
		}
		began := time.Now()
		got, err := m.measure()
		rows = append(rows, got...)
		if err != nil {
			return fmt.Errorf("measure %s: %w", m.what, err)
		}
		fmt.Fprintf(c.Progress, "measured %s in %s\n", m.what, time.Since(began).Round(time.Second))
	}
	return nil
}
