package server_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/internal/contracttest/metrics"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
)

// lackingMetrics are those of the contract that no server exports, by what their
// names begin with, each with the reason. docs/metrics.md lists them.
var lackingMetrics = map[string]string{
	"coder_aibridged_":                              "there is no AI bridge",
	"go_memstats_lookups_total":                     "the Go runtime counts no lookups, and its library exports the number no longer",
	"coderd_agentapi_metadata_publish_errors_total": "values of metadata are written, and hints of it sent with those of everything else, whose errors are not told apart",
}

// dashboardMetrics are what public dashboards and alerts ask for: names, and the
// labels that they select or group by.
var dashboardMetrics = map[string][]string{
	"coderd_workspace_builds_total":                    {"status", "workspace_name", "workspace_owner", "template_name", "template_version", "workspace_transition"},
	"coderd_workspace_latest_build_status":             {"status", "template_name", "template_version", "workspace_owner", "workspace_transition"},
	"coderd_workspace_creation_total":                  {},
	"coderd_workspace_creation_duration_seconds":       {"template_name", "preset_name", "type"},
	"coderd_prebuilt_workspaces_created_total":         {"template_name", "preset_name"},
	"coderd_prebuilt_workspaces_failed_total":          {"template_name", "preset_name"},
	"coderd_prebuilt_workspaces_claimed_total":         {"template_name", "preset_name"},
	"coderd_prebuilt_workspaces_desired":               {"template_name", "preset_name"},
	"coderd_prebuilt_workspaces_running":               {"template_name", "preset_name"},
	"coderd_prebuilt_workspaces_eligible":              {"template_name", "preset_name"},
	"coderd_license_active_users":                      {},
	"coderd_license_limit_users":                       {},
	"coderd_license_user_limit_enabled":                {},
	"coderd_agentstats_rx_bytes":                       {"agent_name", "username", "workspace_name"},
	"coderd_agentstats_tx_bytes":                       {"agent_name", "username", "workspace_name"},
	"coderd_agentstats_connection_count":               {"agent_name", "username", "workspace_name"},
	"coderd_agentstats_session_count_vscode":           {"agent_name", "username", "workspace_name"},
	"coderd_agentstats_session_count_jetbrains":        {"agent_name", "username", "workspace_name"},
	"coderd_agentstats_session_count_reconnecting_pty": {"agent_name", "username", "workspace_name"},
	"coderd_agentstats_session_count_ssh":              {"agent_name", "username", "workspace_name"},
	"coderd_agents_up":                                 {"template_name", "username", "workspace_name"},
	"coderd_agents_connections":                        {"lifecycle_state", "status", "agent_name", "username", "workspace_name"},
	"coderd_provisionerd_job_timings_seconds":          {"provisioner", "status"},
	"coderd_provisionerd_jobs_current":                 {"provisioner"},
	"coderd_provisionerd_num_daemons":                  {},
	"coderd_api_requests_processed_total":              {"code", "method", "path"},
	"coder_pubsub_send_latency_seconds":                {},
	"coder_pubsub_receive_latency_seconds":             {},
	"coder_pubsub_latency_measure_errs_total":          {},
	"coderd_db_query_latencies_seconds":                {"query"},
	"go_sql_open_connections":                          {"db_name"},
}

// moreLabels are labels that metrics have beyond the contract, with the reason.
var moreLabels = map[string]string{
	"coderd_workspace_builds_total workspace_owner":      "public dashboards select it",
	"coderd_workspace_builds_total workspace_transition": "public dashboards select it",
}

// TestMetricsOfTheContract requires every metric of the contract and of public
// dashboards, with its type and labels, but those that are listed as lacking. The
// catalog lists what a server exports; TestMetricsOfUse holds its types to one.
func TestMetricsOfTheContract(t *testing.T) {
	c := config(t)
	c.Provisioning.Daemons, c.Provisioning.Engines = 1, []string{"echo"}
	c.Observability.PrometheusEnable, c.Observability.PrometheusAddress, c.Observability.AgentStats, c.Database.QueryMetrics = true, testport.FreeAddress(t), true, true
	exported := exportedLabels(t, start(t, c))
	catalog := metrics.Catalog(t)
	if have, want := slices.Sorted(maps.Keys(catalog)), slices.Sorted(maps.Keys(exported)); !slices.Equal(have, want) {
		t.Errorf("%s lists\n%v\nthe server exports\n%v", metrics.File, have, want)
	}
	for name, labels := range exported {
		if have := slices.Sorted(maps.Keys(catalog[name].Labels)); !slices.Equal(have, labels) {
			t.Errorf("%s lists the labels %v of %s, the server exports %v", metrics.File, have, name, labels)
		}
	}
	for name, labels := range dashboardMetrics {
		have, ok := exported[name]
		if !ok {
			t.Errorf("%s is not exported", name)
		}
		for _, l := range labels {
			if ok && !slices.Contains(have, l) {
				t.Errorf("%s has the labels %v, not %s", name, have, l)
			}
		}
	}
	lacking, used := contractMetrics(t, catalog), map[string]bool{}
	for _, name := range lacking {
		for prefix := range lackingMetrics {
			used[prefix] = used[prefix] || strings.HasPrefix(name, prefix)
		}
	}
	docs, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for prefix := range lackingMetrics {
		if !used[prefix] || !strings.Contains(string(docs), "`"+prefix) {
			t.Errorf("lacking %s: in the contract %v, or docs/metrics.md does not list it", prefix, used[prefix])
		}
	}
}

// contractMetrics holds the catalog to the contract and returns the names of the
// metrics that it lacks with a reason.
func contractMetrics(t *testing.T, catalog map[string]metrics.Metric) (lacking []string) {
	t.Helper()
	contract := metrics.Contract(t)
	if len(contract) < 97 {
		t.Fatalf("%d metrics in the contract", len(contract))
	}
	beyond := 0
	for _, p := range contract {
		m, ok := catalog[p.Name]
		listed := false
		for prefix := range lackingMetrics {
			listed = listed || strings.HasPrefix(p.Name, prefix)
		}
		switch {
		case ok && listed:
			t.Errorf("%s is exported: strike it from lackingMetrics and from docs/metrics.md", p.Name)
		case !ok && !listed:
			t.Errorf("%s is not exported", p.Name)
		case !ok:
			lacking = append(lacking, p.Name)
			continue
		case m.Type != p.Type:
			t.Errorf("%s is a %s, not a %s", p.Name, m.Type, p.Type)
		}
		for _, l := range p.Labels {
			if _, ok := m.Labels[l]; !ok {
				t.Errorf("%s lacks the label %s", p.Name, l)
			}
		}
		for l := range m.Labels {
			if moreLabels[p.Name+" "+l] != "" {
				beyond++
			} else if !slices.Contains(p.Labels, l) {
				t.Errorf("%s has the label %s, which the contract lacks; if it has a reason, add that to moreLabels", p.Name, l)
			}
		}
	}
	if beyond != len(moreLabels) {
		t.Errorf("moreLabels has %d lines, and %d are needed", len(moreLabels), beyond)
	}
	return lacking
}

// exportedLabels returns the labels of each metric that a server exports.
func exportedLabels(t *testing.T, s *server.Server) map[string][]string {
	t.Helper()
	form := regexp.MustCompile(`fqName: "([^"]+)".*constLabels: {([^}]*)}, variableLabels: {([^}]*)}`)
	exported := map[string][]string{}
	for d := range descriptions(s.Registry()) {
		m := form.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("cannot read %s", d)
		}
		labels := []string{}
		for l := range strings.SplitSeq(m[2]+","+m[3], ",") {
			if name, _, _ := strings.Cut(l, "="); name != "" {
				labels = append(labels, name)
			}
		}
		exported[m[1]] = slices.Compact(slices.Sorted(slices.Values(append(labels, exported[m[1]]...))))
	}
	return exported
}

func descriptions(r *prometheus.Registry) <-chan *prometheus.Desc {
	c := make(chan *prometheus.Desc)
	go func() {
		defer close(c)
		r.Describe(c)
	}()
	return c
}

// TestMetricsOff requires that a server without Prometheus measures neither
// queries nor builds.
func TestMetricsOff(t *testing.T) {
	c := config(t)
	c.Database.QueryMetrics = true // which alone shows nothing
	for name := range exportedLabels(t, start(t, c)) {
		if strings.HasPrefix(name, "coderd_db_") || strings.HasPrefix(name, "go_sql_") || strings.HasPrefix(name, "coderd_workspace_") {
			t.Errorf("%s is measured", name)
		}
	}
}
