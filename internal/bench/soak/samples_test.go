package soak

import (
	"math"
	"strings"
	"testing"
)

func TestSlope(t *testing.T) {
	t.Parallel()
	perSecond, mean := slope([]float64{0, 10, 20, 30}, []float64{5, 26, 44, 65})
	if math.Abs(perSecond-1.98) > 1e-9 || mean != 35 {
		t.Errorf("slope %v, mean %v; want 1.98 and 35", perSecond, mean)
	}
	if perSecond, mean = slope([]float64{7}, []float64{3}); perSecond != 0 || mean != 3 {
		t.Errorf("one sample: slope %v, mean %v; want 0 and 3", perSecond, mean)
	}
}

// TestGrowth reports what grows by more than its tolerance, and tables that grow faster than the builds.
func TestGrowth(t *testing.T) {
	t.Parallel()
	var s samples
	for i := range 20 {
		n := float64(i)
		s.at = append(s.at, 5*n)
		s.all = append(s.all, size{memory: 100e6 + 1e3*n, goroutines: 300 + 20*n, files: 50 + float64(i%2)})
		rows := map[string]float64{"workspace_builds": 3 * n, "audit_logs": 6 * n, "users": 2}
		if i > 10 {
			rows["leases"] = 9 * (n - 10)
		}
		s.tables = append(s.tables, tableRows{rows, 3 * n})
	}
	var out strings.Builder
	var short []string
	for _, r := range s.rows(&out) {
		if r.Short() {
			short = append(short, r.Name())
		}
	}
	if got := strings.Join(short, " "); got != "soak_goroutines_growth soak_tables_growing_faster" {
		t.Errorf("short are %q", got)
	}
	for table, want := range map[string]bool{"audit_logs: 2.0 rows": true, "leases: 0.0 rows": true, "users": false} {
		if strings.Contains(out.String(), table) != want {
			t.Errorf("output with %s is %v, want %v:\n%s", table, !want, want, &out)
		}
	}
}

func TestFewSamplesHaveNoSlope(t *testing.T) {
	t.Parallel()
	s := samples{at: []float64{1, 2}, all: make([]size, 2), tables: make([]tableRows, 2)}
	if rows := s.rows(&strings.Builder{}); rows != nil {
		t.Errorf("two samples have the rows %v", rows)
	}
	if s.restart(); len(s.at) != 0 {
		t.Error("a restart keeps samples")
	}
}

// TestAbove allows some growth and reports more.
func TestAbove(t *testing.T) {
	t.Parallel()
	before := size{memory: 1e8, goroutines: 1000, files: 50}
	if got := (size{memory: 9e8, goroutines: 1100, files: 90}).above(before); got != nil {
		t.Errorf("leaks: %q", got)
	}
	if got := (size{goroutines: 1101, files: 91}).above(before); len(got) != 2 {
		t.Errorf("leaks: %q; want goroutines and files", got)
	}
}

func TestMetric(t *testing.T) {
	t.Parallel()
	text := []byte("# TYPE go_goroutines gauge\ngo_goroutines_x 7\ngo_goroutines 321\n")
	if got, err := metric(text, "go_goroutines"); err != nil || got != 321 {
		t.Errorf("%v, %v; want 321", got, err)
	}
	if _, err := metric(text, "go_threads"); err == nil {
		t.Error("a metric that is missing has a value")
	}
}
