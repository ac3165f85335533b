package presence_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
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
	got, counted := gathered(t, r)
	const prefix = "coderd_agentapi_metadata_"
	for name, want := range map[string]float64{
		"batch_size": 1, "batch_utilization": 1, "batches_total": 1, "flush_duration_seconds": 1, "flushed_total": 2, "dropped_keys_total": 1,
	} {
		if n := counted[prefix+name]; n != want {
			t.Errorf("%s counts %v, want %v", name, n, want)
		}
	}
	for _, c := range contract(t) {
		// Hints are published later and by all, so that no error of theirs is metadata's.
		if !strings.HasPrefix(c.Name, prefix) || c.Name == prefix+"publish_errors_total" {
			continue
		}
		if want := append([]string{c.Type}, slices.Sorted(slices.Values(c.Labels))...); !slices.Equal(got[c.Name], want) {
			t.Errorf("%s has %v, want %v", c.Name, got[c.Name], want)
		}
	}
}

type metric struct {
	Name, Type string
	Labels     []string
}

func contract(t *testing.T) (out []metric) {
	t.Helper()
	b, err := os.ReadFile("../../api/contract/metrics.json")
	must(t, err)
	must(t, json.Unmarshal(b, &out))
	return out
}

// gathered returns the type and labels of each metric, and what it counts in all.
func gathered(t *testing.T, r *prometheus.Registry) (got map[string][]string, counted map[string]float64) {
	t.Helper()
	families, err := r.Gather()
	must(t, err)
	got, counted = map[string][]string{}, map[string]float64{}
	for _, f := range families {
		labels := []string{strings.ToLower(f.GetType().String())}
		for _, l := range f.Metric[0].Label {
			labels = append(labels, l.GetName())
		}
		got[f.GetName()] = labels
		for _, m := range f.Metric {
			counted[f.GetName()] += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return got, counted
}

// The metrics of agents are those of the contract, and tell what agents said.
func TestAgentMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	h := agenttest.New(t, func(c *presence.Config) { c.Registerer, c.Observe = r, &presence.Observation{Stats: true} })
	c := connect(t, h, measured(t, h, "ws", func(a *provisioner.Agent) {
		a.Apps = []*provisioner.App{{Slug: "one", DisplayName: "Same"}, {Slug: "two", DisplayName: "Same"}, {Slug: "three"}}
		a.Scripts = []*provisioner.Script{{DisplayName: "start", Script: "true", RunOnStart: true}}
	}).Token)
	measured(t, h, "away") // never connected
	m, err := h.Presence.Hello(t.Context(), c, presence.Hello{Certificate: []byte("cert")})
	must(t, err)
	begin := time.Now()
	must(t, h.Presence.SetLifecycle(t.Context(), c.Agent, codersdk.WorkspaceAgentLifecycleStarting, begin.Add(-7*time.Second)))
	must(t, h.Presence.SetLifecycle(t.Context(), c.Agent, codersdk.WorkspaceAgentLifecycleReady, begin.Add(-2*time.Second)))
	for i, status := range []string{"ok", "ok", "exit_failure"} {
		ran := begin.Add(time.Duration(i) * time.Millisecond)
		must(t, h.Presence.AddScriptTiming(t.Context(), c.Agent, presence.ScriptTiming{
			ScriptID: m.Scripts[0].ID, StartedAt: ran, EndedAt: ran, Stage: "start", Status: status,
		}))
	}
	_, err = h.Presence.PutStats(t.Context(), c.Agent, presence.Stats{
		SSH: 2, VSCode: 3, JetBrains: 4, ReconnectingPTY: 5, Connections: 6, RxBytes: 700, TxBytes: 800, LatencyMS: 250, Direct: 9, Relayed: 10,
	})
	must(t, err)
	h.Presence.SetLatency(c, 500*time.Millisecond)
	must(t, h.Presence.Observe(t.Context()))
	got, counted := gathered(t, r)
	for name, want := range map[string]float64{
		"coderd_agents_up": 1, "coderd_agents_connections": 2, "coderd_agents_apps": 3, "coderd_agents_connection_latencies_seconds": 0.5,
		"coderd_agentstats_connection_count": 6, "coderd_agentstats_connection_median_latency_seconds": 0.25,
		"coderd_agentstats_currently_reachable_peers": 19, "coderd_agentstats_rx_bytes": 700, "coderd_agentstats_tx_bytes": 800,
		"coderd_agentstats_session_count_jetbrains": 4, "coderd_agentstats_session_count_reconnecting_pty": 5, "coderd_agentstats_session_count_ssh": 2,
		"coderd_agentstats_session_count_vscode": 3, "coderd_agentstats_startup_script_seconds": 5, "agent_scripts_executed_total": 3,
	} {
		if n, told := counted[name]; !told || n != want {
			t.Errorf("%s is %v (told of: %v), want %v", name, n, told, want)
		}
	}
	for _, c := range contract(t) {
		if !strings.HasPrefix(c.Name, "coderd_agents") && !strings.HasPrefix(c.Name, "agent_") && c.Name != "coderd_metrics_collector_agents_execution_seconds" {
			continue
		}
		if want := append([]string{c.Type}, slices.Sorted(slices.Values(c.Labels))...); !slices.Equal(got[c.Name], want) {
			t.Errorf("%s has %v, want %v", c.Name, got[c.Name], want)
		}
	}
	must(t, h.Presence.Disconnected(t.Context(), c))
	must(t, h.Presence.Observe(t.Context()))
	_, counted = gathered(t, r)
	if n, told := counted["coderd_agents_up"]; !told || n != 0 {
		t.Errorf("%v agents are up, told of: %v", n, told)
	}
	if _, told := counted["coderd_agentstats_rx_bytes"]; told {
		t.Error("an agent that is gone still has statistics")
	}
}

// What is not told apart is added up, and of times the mean.
func TestAgentMetricsTogether(t *testing.T) {
	r := prometheus.NewRegistry()
	h := agenttest.New(t, func(c *presence.Config) {
		c.Registerer, c.Observe = r, &presence.Observation{Stats: true, By: []string{"username", "template_name"}}
	})
	for i, name := range []string{"one", "two"} {
		c := connect(t, h, measured(t, h, name).Token)
		_, err := h.Presence.PutStats(t.Context(), c.Agent, presence.Stats{SSH: 1, LatencyMS: float64(100 * (i + 1)), Direct: 1})
		must(t, err)
	}
	must(t, h.Presence.Observe(t.Context()))
	got, counted := gathered(t, r)
	if n := counted["coderd_agentstats_session_count_ssh"]; n != 2 || !slices.Equal(got["coderd_agentstats_session_count_ssh"], []string{"gauge", "username"}) {
		t.Errorf("%v sessions by %v", n, got["coderd_agentstats_session_count_ssh"])
	}
	if n := counted["coderd_agentstats_connection_median_latency_seconds"]; math.Abs(n-0.15) > 1e-9 {
		t.Errorf("latency is %v", n)
	}
	if l := got["coderd_agentstats_currently_reachable_peers"]; !slices.Equal(l, []string{"gauge", "connection_type", "template_name", "username"}) {
		t.Errorf("peers by %v", l)
	}
}
