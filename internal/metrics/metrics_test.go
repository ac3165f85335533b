package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

// names returns how many series each metric has.
func names(t *testing.T, r *prometheus.Registry) map[string]int {
	t.Helper()
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, f := range all {
		out[f.GetName()] = len(f.GetMetric())
	}
	return out
}

func service(t *testing.T, c Config) (*Service, *postgres.Store, *prometheus.Registry) {
	t.Helper()
	store, err := postgres.Open(t.Context(), postgres.Config{URL: postgrestest.URL(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	r := prometheus.NewRegistry()
	c.Store, c.Registerer, c.Log = store, r, slog.New(slog.DiscardHandler)
	return New(c), store, r
}

func TestValuesExpire(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s, store, r := service(t, Config{
		Now: func() time.Time { return now }, Interval: time.Minute,
		Latency: func(context.Context) (time.Duration, time.Duration, error) {
			return time.Millisecond, time.Millisecond, nil
		},
	})
	if got := names(t, r); got["coderd_license_active_users"] != 0 {
		t.Errorf("before the first refresh there are %v", got)
	}
	all := func() {
		for _, g := range s.groups {
			s.refresh(t.Context(), g)
		}
	}
	all()
	const users, hints = "coderd_license_active_users", "coder_pubsub_send_latency_seconds"
	if got := names(t, r); got[users] != 1 || got[hints] != 1 {
		t.Errorf("after a refresh there are %v", got)
	}
	store.Close() // the database is away
	now = now.Add(4 * time.Minute)
	all()
	if got := names(t, r); got[users] != 1 || got[hints] != 1 {
		t.Errorf("after refreshes that failed there are %v", got)
	}
	now = now.Add(5 * time.Minute)
	if got := names(t, r); got[users] != 0 {
		t.Errorf("long after the last refresh there are %v", got)
	}
}

func TestLatencyErrorsAreCounted(t *testing.T) {
	s, _, r := service(t, Config{Latency: func(context.Context) (time.Duration, time.Duration, error) { return 0, 0, errors.New("lost") }})
	s.refresh(t.Context(), s.groups[2])
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() == "coder_pubsub_latency_measure_errs_total" && f.GetMetric()[0].GetCounter().GetValue() == 1 {
			return
		}
	}
	t.Error("the error is not counted")
}

func TestSeries(t *testing.T) {
	s := newSeries(insightParameters)
	for range 2 { // the same names in two organizations
		s.add(3, "region", "string", "eu", "docker")
	}
	s.add(1, "notes", "string", strings.Repeat("é", maxLabel), "docker")
	s.add(1, "notes", "string", "\xff", "docker")
	r := prometheus.NewRegistry()
	r.MustRegister(fixed(s.metrics()))
	if got := names(t, r); got["coderd_insights_parameters"] != 3 { // Gather refuses labels that are not UTF-8
		t.Errorf("%v", got)
	}
	if got := s.values["region\x00string\x00eu\x00docker"].v; got != 6 {
		t.Errorf("the sum is %v", got)
	}
	for i := range 2 * maxSeries {
		s.add(1, "n", "number", fmt.Sprint(i), "docker")
	}
	if len(s.values) != maxSeries {
		t.Errorf("there are %d series", len(s.values))
	}
}

// fixed is a collector of metrics as they are.
type fixed []prometheus.Metric

func (fixed) Describe(d chan<- *prometheus.Desc) { d <- insightParameters }

func (f fixed) Collect(m chan<- prometheus.Metric) {
	for _, x := range f {
		m <- x
	}
}
