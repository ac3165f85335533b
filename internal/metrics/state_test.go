package metrics

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// values returns the values of a metric's series by the value of one label.
func values(t *testing.T, r *prometheus.Registry, name, label string) map[string]float64 {
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
			for _, l := range m.GetLabel() {
				if l.GetName() == label {
					out[l.GetValue()] = m.GetGauge().GetValue()
				}
			}
		}
	}
	return out
}

// TestReplicas counts a server that runs, one that was stopped, one that crashed,
// and one that crashed and started again on its host.
func TestReplicas(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	s, store, r := service(t, Config{Now: func() time.Time { return now }, Version: "v2.37.0-devel+0123456789ab"})
	beat := func(host string, age time.Duration) uuid.UUID {
		id := uuid.New()
		if err := store.ReplicaAnnounce(t.Context(), sqlc.ReplicaAnnounceParams{ID: id, Hostname: host, Now: now.Add(-age)}); err != nil {
			t.Fatal(err)
		}
		return id
	}
	beat("coder-1", time.Second)
	if err := store.ReplicaRetire(t.Context(), now.Add(-time.Hour), beat("coder-2", time.Hour)); err != nil {
		t.Fatal(err)
	}
	beat("coder-3", time.Hour)
	beat("coder-4", time.Hour)
	beat("coder-4", 2*time.Second)
	got, err := s.state(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.groups = []*group{{every: 1, values: got, at: now}}
	if v := values(t, r, "coderd_replicas", "status"); v["alive"] != 2 || v["lost"] != 1 {
		t.Errorf("replicas: %v", v)
	}
	if v := values(t, r, "coderd_build_info", "revision"); v["0123456789ab"] != 1 {
		t.Errorf("build info: %v", v)
	}
}

func TestCertificatesAndDisks(t *testing.T) {
	end := time.Unix(1_800_000_000, 0)
	s, _, r := service(t, Config{
		Certificates: func(context.Context) ([]Certificate, error) {
			return []Certificate{{"coder.example.com", "access_url", end}}, nil
		},
		Disks: func() ([]Disk, error) { return []Disk{{"cache", 25, 100}}, nil },
	})
	for _, g := range s.groups {
		if g.name == "disks" || g.name == "certificates" {
			s.refresh(t.Context(), g)
		}
	}
	if v := values(t, r, "coderd_tls_certificate_end_timestamp_seconds", "source"); v["access_url"] != 1_800_000_000 {
		t.Errorf("certificates: %v", v)
	}
	if free, size := values(t, r, "coderd_disk_free_bytes", "directory"), values(t, r, "coderd_disk_size_bytes", "directory"); free["cache"] != 25 || size["cache"] != 100 {
		t.Errorf("disks: %v of %v", free, size)
	}
}
