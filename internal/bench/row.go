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
	"slices"
	"time"
)

// row is one measured figure and what it should be at most.
type row struct {
	name  string
	value float64
	goal  float64
	unit  string // "x" for ratios, "ms", "MB"
}

func (r row) print(w io.Writer) {
	verdict := "ok"
	if r.value > r.goal {
		verdict = "short"
	}
	fmt.Fprintf(w, "%-32s %10.2f%-3s %10.2f%-3s %s\n", r.name, r.value, r.unit, r.goal, r.unit, verdict)
}

// quantile gives the q-quantile (0 to 1) of ds, which it sorts.
func quantile(ds []time.Duration, q float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	slices.Sort(ds)
	return ds[min(len(ds)-1, int(q*float64(len(ds))))]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
