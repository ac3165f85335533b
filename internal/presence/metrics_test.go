package presence_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

// The metrics of metadata are those of the contract, and count what they say.
func TestMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	h := agenttest.New(t, func(c *presence.Config) { c.Registerer = r })
	c := connect(t, h, measured(t, h, "ws").Token)
	must(t, h.Presence.PutMetadata(t.Context(), c.Agent, []presence.MetadataValue{{Key: "cpu"}, {Key: "disk"}, {Key: "nonsense"}}))
	must(t, h.Presence.Sample(t.Context()))
	must(t, h.Presence.Sample(t.Context())) // of nothing
	families, err := r.Gather()
	must(t, err)
	got, counted := map[string][]string{}, map[string]float64{}
	for _, f := range families {
		labels := []string{strings.ToLower(f.GetType().String())}
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		got[f.GetName()] = labels
		for _, m := range f.Metric {
			counted[f.GetName()] += m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	const prefix = "coderd_agentapi_metadata_"
	for name, want := range map[string]float64{
		"batch_size": 1, "batch_utilization": 1, "batches_total": 1, "flush_duration_seconds": 1, "flushed_total": 2, "dropped_keys_total": 1,
	} {
		if n := counted[prefix+name]; n != want {
			t.Errorf("%s counts %v, want %v", name, n, want)
		}
	}
	b, err := os.ReadFile("../../api/contract/metrics.json")
	must(t, err)
	var contract []struct {
		Name, Type string
		Labels     []string
	}
	must(t, json.Unmarshal(b, &contract))
	for _, c := range contract {
		// Hints are published later and by all, so that no error of theirs is metadata's.
		if !strings.HasPrefix(c.Name, prefix) || c.Name == prefix+"publish_errors_total" {
			continue
		}
		if want := append([]string{c.Type}, slices.Sorted(slices.Values(c.Labels))...); !slices.Equal(got[c.Name], want) {
			t.Errorf("%s has %v, want %v", c.Name, got[c.Name], want)
		}
	}
}
