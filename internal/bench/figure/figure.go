// Package figure prints measured values with their goals, one line per row:
//
//	name value goal ok|short
//
// A row that misses its goal is not an error: a slow machine is not a bug.
package figure

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// Row is one measured value and its goal.
type Row struct {
	name  string
	value float64
	goal  float64
	unit  string // "x" for ratios, "%", "ms", "MB"
	least bool   // the goal is a minimum, not a maximum
	plain bool   // without a goal
}

// AtMost returns a row for which less is better.
func AtMost(name string, value, goal float64, unit string) Row {
	return Row{name: name, value: value, goal: goal, unit: unit}
}

// AtLeast returns a row for which more is better.
func AtLeast(name string, value, goal float64, unit string) Row {
	return Row{name: name, value: value, goal: goal, unit: unit, least: true}
}

// Plain returns a row without a goal, which is printed as "-".
func Plain(name string, value float64, unit string) Row {
	return Row{name: name, value: value, unit: unit, plain: true}
}

// Short reports whether the value misses its goal.
func (r Row) Short() bool {
	return !r.plain && (r.least && r.value < r.goal || !r.least && r.value > r.goal)
}

// Name returns the name of the row.
func (r Row) Name() string { return r.name }

// Print writes the row as a line.
func (r Row) Print(w io.Writer) {
	verdict, goal := "ok", digits(r.goal)+r.unit
	if r.Short() {
		verdict = "short"
	}
	if r.plain {
		goal = "-"
	}
	fmt.Fprintf(w, "%-32s %10s%-3s %13s %s\n", r.name, digits(r.value), r.unit, goal, verdict)
}

// digits formats a value with three significant digits, or with all digits
// before the point.
func digits(v float64) string {
	if math.Abs(v) >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

// Quantile returns the q-quantile (0 to 1) of ds, which it sorts, and 0 for no
// durations.
func Quantile(ds []time.Duration, q float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	return ds[min(len(ds)-1, int(q*float64(len(ds))))]
}

// Milliseconds returns a duration in milliseconds.
func Milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
