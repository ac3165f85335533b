// Package bench measures the real binary on this machine: a server with its
// built-in PostgreSQL, real Terraform, a real agent, and beside each figure its
// floor, taken in the same run. It prints one line per row,
//
//	name value goal ok|short
//
// and never fails because a figure is poor: a slow machine is not a bug.
package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// row is one measured figure and its goal.
type row struct {
	name  string
	value float64
	goal  float64
	unit  string // "x" for ratios, "ms", "MB"
	least bool   // the goal is the least it should be, not the most
}

// atMost is a row of which less is better.
func atMost(name string, value, goal float64, unit string) row {
	return row{name: name, value: value, goal: goal, unit: unit}
}

// atLeast is a row of which more is better.
func atLeast(name string, value, goal float64, unit string) row {
	return row{name: name, value: value, goal: goal, unit: unit, least: true}
}

func (r row) print(w io.Writer) {
	verdict := "ok"
	if r.least && r.value < r.goal || !r.least && r.value > r.goal {
		verdict = "short"
	}
	fmt.Fprintf(w, "%-32s %10s%-3s %10s%-3s %s\n", r.name, digits(r.value), r.unit, digits(r.goal), r.unit, verdict)
}

// digits writes a figure with three digits that mean something, or all those
// before the point.
func digits(v float64) string {
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// quantile gives the q-quantile (0 to 1) of ds, which it sorts.
func quantile(ds []time.Duration, q float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	return ds[min(len(ds)-1, int(q*float64(len(ds))))]
}

// median gives the middle of vs, which it sorts.
func median(vs []float64) float64 {
	slices.Sort(vs)
	return vs[len(vs)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// measurement is some rows that are measured together.
type measurement struct {
	what    string // for people who wait
	measure func() ([]row, error)
}

// each makes the measurements one after the other, or c.Only alone, telling
// c.Progress, and prints all rows at the end; those that were measured before
// one failed too.
func each(c Config, all ...measurement) error {
	var rows []row
	defer func() {
		for _, r := range rows {
			r.print(c.Out)
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
