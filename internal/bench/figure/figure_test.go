package figure_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/bench/figure"
)

func TestRows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		row   figure.Row
		want  string
		short bool
	}{
		{figure.AtMost("pickup_p50", 12.345, 50, "ms"), "pickup_p50 12.3ms 50ms ok", false},
		{figure.AtMost("pickup_p50", 50.1, 50, "ms"), "pickup_p50 50.1ms 50ms short", true},
		{figure.AtLeast("throughput", 89, 90, "%"), "throughput 89% 90% short", true},
		{figure.AtLeast("throughput", 12345.6, 90, "%"), "throughput 12346% 90% ok", false},
		{figure.Plain("builds", 7, ""), "builds 7 - ok", false},
	} {
		var b strings.Builder
		c.row.Print(&b)
		if got := strings.Join(strings.Fields(b.String()), " "); got != c.want || c.row.Short() != c.short {
			t.Errorf("%q, short %v; want %q, %v", got, c.row.Short(), c.want, c.short)
		}
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	all := []time.Duration{3, 1, 2, 5, 4}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 3, 0.99: 5, 1: 5} {
		if got := figure.Quantile(all, q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if got := figure.Quantile(nil, 0.5); got != 0 {
		t.Errorf("the quantile of nothing is %d", got)
	}
}
