package provisionerd

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// TestMetricsOfTheContract holds the names, kinds and labels of what a
// provisioner exports with those of the contract, with one job running and one ended.
func TestMetricsOfTheContract(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	var m *metrics
	for range 2 { // daemons of one process share them
		var err error
		if m, err = newMetrics(reg); err != nil {
			t.Fatal(err)
		}
		m.daemons.Inc()
	}
	m.current.WithLabelValues("terraform").Inc()
	m.observe(&provisionerd.AcquiredJob{Provisioner: "terraform", Type: &provisionerd.AcquiredJob_WorkspaceBuild_{WorkspaceBuild: &provisionerd.AcquiredJob_WorkspaceBuild{
		Metadata: &provisioner.Metadata{TemplateName: "t", TemplateVersion: "v", WorkspaceTransition: provisioner.WorkspaceTransition_DESTROY},
	}}}, "success", time.Second)

	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, f := range families {
		labels := []string{strings.ToLower(f.GetType().String())}
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
			if l.GetName() == "workspace_transition" && l.GetValue() != "delete" {
				t.Errorf("the transition is %s", l.GetValue())
			}
		}
		got[f.GetName()] = labels
		if f.GetName() == "coderd_provisionerd_num_daemons" && f.Metric[0].GetGauge().GetValue() != 2 {
			t.Errorf("%s is %v", f.GetName(), f.Metric[0])
		}
	}
	b, err := os.ReadFile("../../api/contract/metrics.json")
	if err != nil {
		t.Fatal(err)
	}
	var contract []struct {
		Name, Type string
		Labels     []string
	}
	if err := json.Unmarshal(b, &contract); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, c := range contract {
		if !strings.HasPrefix(c.Name, "coderd_provisionerd_") {
			continue
		}
		found++
		if want := append([]string{c.Type}, slices.Sorted(slices.Values(c.Labels))...); !slices.Equal(got[c.Name], want) {
			t.Errorf("%s has %v, want %v", c.Name, got[c.Name], want)
		}
	}
	if found != 4 {
		t.Errorf("the contract names %d metrics of provisioners", found)
	}
}
