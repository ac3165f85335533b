package servertest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/server"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// sample is one line of a page of metrics.
type sample struct {
	labels map[string]string
	value  float64
}

// metricsPage returns the page of metrics.
func metricsPage(t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/", nil)
	must(t, err)
	resp, err := http.DefaultClient.Do(r)
	must(t, err)
	defer resp.Body.Close()
	page, err := io.ReadAll(resp.Body)
	must(t, err)
	return string(page)
}

// scrape reads the page of metrics, as Prometheus does.
func scrape(t *testing.T, address string) map[string][]sample {
	t.Helper()
	return samples(t, metricsPage(t, address))
}

func samples(t *testing.T, page string) map[string][]sample {
	t.Helper()
	line := regexp.MustCompile(`^(\w+)(?:\{(.*)\})? (\S+)$`)
	label := regexp.MustCompile(`(\w+)="((?:[^"\\]|\\.)*)"`)
	out := map[string][]sample{}
	for l := range strings.Lines(page) {
		m := line.FindStringSubmatch(strings.TrimSpace(l))
		if m == nil {
			continue
		}
		value, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		s := sample{labels: map[string]string{}, value: value}
		for _, x := range label.FindAllStringSubmatch(m[2], -1) {
			s.labels[x[1]] = x[2]
		}
		out[m[1]] = append(out[m[1]], s)
	}
	return out
}

// metricAfterUse is a sample that there is after the use of a server in
// TestMetricsOfUse: labels as name=value, and the least value.
type metricAfterUse struct {
	name, labels string
	least        float64
}

func (m metricAfterUse) in(page map[string][]sample) bool {
	return slices.ContainsFunc(page[m.name], func(s sample) bool {
		for l := range strings.FieldsSeq(m.labels) {
			name, want, _ := strings.Cut(l, "=")
			if have, ok := s.labels[name]; !ok || have != want && have != strings.ReplaceAll(want, "_", " ") {
				return false
			}
		}
		return s.value >= m.least
	})
}

func metricsAfterUse() []metricAfterUse {
	regular := "organization_name=coder template_name=stock preset_name="
	return []metricAfterUse{
		{"coderd_workspace_builds_total", "action=start workspace_transition=start status=succeeded template_name=stock workspace_name=api workspace_owner=admin owner_email=admin@example.com", 1},
		{"coderd_workspace_builds_total", "workspace_transition=stop status=succeeded workspace_name=api", 1},
		{"coderd_workspace_latest_build_status", "status=succeeded template_name=stock workspace_owner=admin workspace_transition=stop", 1},
		{"coderd_workspace_latest_build_status", "status=succeeded template_name=stock workspace_owner=prebuilds workspace_transition=start", 1},
		{"coderd_api_workspace_latest_build", "status=succeeded", 2},
		{"coderd_workspace_creation_total", regular, 1},
		{"coderd_workspace_creation_duration_seconds_count", regular + " type=regular", 1},
		{"coderd_workspace_creation_duration_seconds_count", "organization_name=coder template_name=stock preset_name=Big type=prebuild", 1},
		{"coderd_template_workspace_build_duration_seconds_count", "is_prebuild=false organization_name=coder status=succeeded template_name=stock transition=stop", 1},
		{"coderd_template_workspace_build_duration_seconds_count", "is_prebuild=true organization_name=coder status=succeeded template_name=stock transition=start", 1},
		{"coderd_prebuilt_workspaces_running", "template_name=stock preset_name=Big", 1},
		{"coderd_api_active_users_duration_hour", "", 1},
		{"coderd_license_active_users", "", 1},
		{"coderd_license_limit_users", "", 0},
		{"coderd_license_user_limit_enabled", "", 0},
		{"coderd_insights_templates_active_users", "template_name=stock", 1},
		{"coderd_insights_applications_usage_seconds", "application_name=SSH slug=ssh template_name=stock", 60},
		{"coderd_insights_applications_usage_seconds", "application_name=Port_8080 slug=8080 template_name=stock", 30},
		{"coderd_insights_parameters", "parameter_name=region parameter_type=string parameter_value=eu template_name=stock", 1},
		{"coder_pubsub_send_latency_seconds", "", 1e-9},
		{"coder_pubsub_receive_latency_seconds", "", 1e-9},
		{"coder_pubsub_latency_measure_errs_total", "", 0},
		{"coderd_provisionerd_job_timings_seconds_count", "provisioner=echo", 1},
		{"coderd_api_requests_processed_total", "code=201 method=POST", 1},
		{"coderd_db_query_latencies_seconds_count", "query=BuildMeasured", 1},
		{"coderd_db_tx_duration_seconds_count", "success=true", 1},
		{"coderd_db_tx_executions_count", "success=true retries=0", 1},
		{"go_sql_open_connections", "", 1},
		{"coderd_workspace_builds_total", "workspace_transition=start status=failed template_name=broken workspace_name=broken", 1},
		{"coderd_template_workspace_build_duration_seconds_count", "status=failed template_name=broken transition=start", 1},
		{"coderd_agents_up", "workspace_name=dev username=admin template_name=echo", 1},
		{"coderd_agents_connections", "workspace_name=dev status=connected lifecycle_state=ready", 1},
		{"coderd_build_info", "version=v2.37.0-test revision=", 1},
		{"coderd_api_total_user_count", "status=active", 1},
		{"coderd_replicas", "status=alive", 1},
		{"coderd_replicas", "status=lost", 0},
		{"coderd_disk_free_bytes", "directory=cache", 1},
		{"coderd_disk_size_bytes", "directory=cache", 1},
		{"coderd_notifications_failed_total", "method=webhook", 1},
		{"coderd_notifications_queued_seconds_count", "method=webhook", 1},
		{"coderd_notifications_dispatcher_send_seconds_count", "method=webhook", 1},
	}
}

// TestMetricsOfUse uses a server and requires that its page of metrics shows it.
func TestMetricsOfUse(t *testing.T) {
	address := testport.FreeAddress(t)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })) // no notification arrives
	t.Cleanup(receiver.Close)
	webhook, err := url.Parse(receiver.URL)
	must(t, err)
	s := servertest.Start(t, func(c *server.Config) {
		often(c)
		o := &c.Observability
		o.PrometheusEnable, o.PrometheusAddress, o.AgentStats, o.MetricsInterval = true, address, true, 100*time.Millisecond
		c.Database.QueryMetrics = true
		c.Notifications.Method, c.Notifications.Fetch = "webhook", 100*time.Millisecond
		c.Notifications.WebhookURL = webhook
	})
	ctx, c := t.Context(), s.Client
	v := stockVersion(t, s, uuid.Nil, 1, map[string]string{"graph.plan.jsonl": `{"complete": {
		"parameters": [{"name": "region", "type": "string", "mutable": true, "defaultValue": "eu"}],
		"presets": [{"name": "Big", "prebuild": {"instances": 1}}]}}`})
	tpl, err := c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "stock", TemplateVersionID: v.ID})
	must(t, err)
	w, err := c.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "api", TemplateID: tpl.ID})
	must(t, err)
	follow(t, c, "/workspacebuilds/"+w.LatestBuild.ID.String()+"/logs")
	b, err := c.CreateWorkspaceBuild(ctx, w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStop})
	must(t, err)
	follow(t, c, "/workspacebuilds/"+b.ID.String()+"/logs")
	prebuilt(t, s, shelved(1))
	noteUse(t, s, w)
	broken := stockVersion(t, s, uuid.Nil, 0, map[string]string{"apply.start.jsonl": `{"error": "no capacity"}`})
	tpl, err = c.CreateTemplate(ctx, "default", codersdk.CreateTemplateRequest{Name: "broken", TemplateVersionID: broken.ID})
	must(t, err)
	w, err = c.CreateWorkspace(ctx, "me", codersdk.CreateWorkspaceRequest{Name: "broken", TemplateID: tpl.ID})
	must(t, err)
	follow(t, c, "/workspacebuilds/"+w.LatestBuild.ID.String()+"/logs")
	withAgent(t, s)
	must(t, c.PostTestNotification(ctx))

	testwait.Value(t, "the page has all metrics", func() (missing []string) {
		page := scrape(t, address)
		for _, m := range metricsAfterUse() {
			if !m.in(page) {
				missing = append(missing, fmt.Sprintf("%s{%s} >= %v; there are %v", m.name, m.labels, m.least, page[m.name]))
			}
		}
		return missing
	}, func(missing []string) bool { return len(missing) == 0 }, testwait.Every(100*time.Millisecond))
	for _, x := range scrape(t, address)["coderd_workspace_builds_total"] {
		if x.value != 1 {
			t.Errorf("a build of %v is counted %v times", x.labels, x.value)
		}
	}
	checkCatalog(t, metricsPage(t, address))
}

// noteUse writes down what an agent and the app proxy report in minutes.
func noteUse(t *testing.T, s *servertest.Server, w codersdk.Workspace) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), s.PostgresURL)
	must(t, err)
	defer db.Close(t.Context()) //nolint:errcheck // the test is over
	_, err = db.Exec(t.Context(), `INSERT INTO workspace_usage (hour, workspace_id, user_id, template_id, seconds, ssh_seconds, vscode_seconds, jetbrains_seconds, reconnecting_pty_seconds)
		VALUES (date_trunc('hour', now()), $1, $2, $3, 60, 60, 0, 0, 0)`, w.ID, w.OwnerID, w.TemplateID)
	must(t, err)
	_, err = db.Exec(t.Context(), `INSERT INTO workspace_app_stats (session_id, user_id, workspace_id, agent_id, access_method, slug_or_port, started_at, ended_at, requests)
		VALUES ($1, $2, $3, $4, 'path', '8080', now() - interval '1 minute', now(), 3)`, uuid.New(), w.OwnerID, w.ID, uuid.New())
	must(t, err)
}
