package meter

import (
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// TestCountedWorkspacesAreBounded requires that a server which runs for years
// does not keep every workspace that it ever built.
func TestCountedWorkspacesAreBounded(t *testing.T) {
	r := prometheus.NewRegistry()
	m := NewBuilds(r)
	for i := range maxCounted + 10 {
		m.count(sqlc.BuildMeasuredRow{Owner: "ann", Workspace: fmt.Sprint(i), Transition: "start", Status: "failed"}, false)
	}
	m.count(sqlc.BuildMeasuredRow{Owner: "ann", Workspace: "0", Transition: "start", Status: "failed"}, false)
	all, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.GetName() != "coderd_workspace_builds_total" {
			continue
		}
		if len(f.GetMetric()) != maxCounted+1 {
			t.Errorf("%d series", len(f.GetMetric()))
		}
		values := map[float64]int{}
		for _, x := range f.GetMetric() {
			values[x.GetCounter().GetValue()]++
		}
		if values[10] != 1 || values[2] != 1 {
			t.Errorf("counted %v", values)
		}
	}
}
