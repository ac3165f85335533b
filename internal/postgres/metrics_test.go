package postgres_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

// counted returns how often each combination of labels of a metric was noted.
func counted(t *testing.T, r *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range all {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			key := ""
			for _, l := range m.GetLabel() {
				key += l.GetName() + "=" + l.GetValue() + " "
			}
			out[key] = float64(m.GetHistogram().GetSampleCount()) + m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return out
}

func TestQueryMetrics(t *testing.T) {
	url, r := postgrestest.URL(t), prometheus.NewRegistry()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: url, MaxOpen: 7, Registerer: r, QueryMetrics: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if _, err := s.EnsureDefaultOrganization(t.Context(), uuid.New(), time.Now()); err != nil { // one row
		t.Fatal(err)
	}
	for range 2 { // many rows
		if _, err := s.HealthOrganizations(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	failed := errors.New("no")
	for _, want := range []error{nil, nil, failed} {
		err := s.Tx(t.Context(), func(q *sqlc.Queries) error {
			_, err := q.HealthOrganizations(t.Context())
			return errors.Join(err, want)
		})
		if !errors.Is(err, want) {
			t.Fatal(err)
		}
	}
	queries := counted(t, r, "coderd_db_query_latencies_seconds")
	if queries["query=HealthOrganizations "] != 5 || queries["query=EnsureDefaultOrganization "] != 1 {
		t.Errorf("queries %v", queries)
	}
	const here = "tx_id=postgres_test.TestQueryMetrics "
	if got := counted(t, r, "coderd_db_tx_duration_seconds"); got["success=true "+here] != 2 || got["success=false "+here] != 1 {
		t.Errorf("transactions %v", got)
	}
	if got := counted(t, r, "coderd_db_tx_executions_count"); got["retries=0 success=true "+here] != 2 {
		t.Errorf("executions %v", got)
	}
	for name, n := range counted(t, r, "go_sql_max_open_connections") {
		if n != 7 {
			t.Errorf("%s: %v connections at most", name, n)
		}
	}
}

// TestQueryMetricsOff requires that nothing stands between the queries and the
// pool when they are not measured.
func TestQueryMetricsOff(t *testing.T) {
	r := prometheus.NewRegistry()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: postgrestest.URL(t), Registerer: r})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if _, err := s.HealthOrganizations(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := counted(t, r, "coderd_db_query_latencies_seconds"); len(got) != 0 {
		t.Errorf("measured %v", got)
	}
	if got := counted(t, r, "go_sql_open_connections"); len(got) != 1 {
		t.Errorf("the pool has %v", got)
	}
}
