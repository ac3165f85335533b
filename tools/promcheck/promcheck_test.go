package main

import (
	"strings"
	"testing"
	"time"
)

const metrics = `# comment
counter coderd_api_requests_processed_total code method
gauge coderd_agents_connections status=connected|disconnected username
histogram coderd_api_request_latencies_seconds path
`

func testCatalog(t *testing.T) catalog {
	t.Helper()
	c, err := readCatalog(metrics)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestQueries(t *testing.T) {
	c := testCatalog(t)
	for expr, want := range map[string]string{
		`sum by (namespace, code) (rate(coderd_api_requests_processed_total{method="1"}[5m]))`:               "",
		`histogram_quantile(0.9, sum by (le, path) (rate(coderd_api_request_latencies_seconds_bucket[5m])))`: "",
		`sum(coderd_agents_connections{status=~"connected|gone"}) and on (instance) up_to`:                   "no server has the metric up_to",
		`sum(rate(coderd_api_request_latencies_seconds[5m]))`:                                                "no server has the metric",
		`coderd_agents_connections{user="admin"}`:                                                            "no label user",
		`coderd_agents_connections{status="lost"}`:                                                           "no value of status",
		`sum by (path) (coderd_agents_connections)`:                                                          "has the label path",
		`coderd_agents_connections / on (code) coderd_agents_connections`:                                    "has the label code",
		`sum without (username) (coderd_agents_connections)`:                                                 "without",
		`rate(coderd_agents_connections[5m])`:                                                                "which is a gauge",
		`delta(coderd_api_requests_processed_total[5m])`:                                                     "which is a counter",
		`coderd_agents_connections / on (username) coderd_agents_connections`:                                "many-to-many",
		`coderd_agents_connections < 0`:                                                                      "no result",
		`sum(`:                                                                                               "unclosed",
	} {
		err := c.checkQuery(expr, true)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", expr, err, want)
		}
	}
}

func TestRules(t *testing.T) {
	c := testCatalog(t)
	const good = `groups: [{name: g, rules: [{alert: Lost, expr: 'coderd_agents_connections > 9', labels: {severity: info},
		annotations: {summary: s, description: '{{ $value | humanize }} {{ $labels.instance }}', runbook_url: 'https://example.com/docs/runbooks.md#lost'}}]}]`
	if _, err := checkRules(c, []byte(good)); err != nil {
		t.Error(err)
	}
	for old, changed := range map[string]string{
		"severity: info": "severity: high", "#lost": "#down", "summary: s": "summary: ''", "$labels.instance": "nothing", "expr": "expression",
		"alert: Lost": "alert: ''",
	} {
		if _, err := checkRules(c, []byte(strings.Replace(good, old, changed, 1))); err == nil {
			t.Errorf("with %s, no error", changed)
		}
	}
}

// TestFiring follows an alert through its time of waiting, an end and another
// start.
func TestFiring(t *testing.T) {
	s, err := parseSeries(`up{instance="a"}`, "0 1 1 1 0 1 1 1", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	r := rule{Expr: "up == 1", For: 120_000_000_000, Labels: map[string]string{"severity": "info"}}
	for minute, want := range []int{0, 0, 0, 1, 0, 0, 0, 1} {
		got, err := r.firing(series{s}, time.Minute, time.Duration(minute)*time.Minute)
		if err != nil || len(got) != want {
			t.Errorf("at minute %d %v fire, want %d: %v", minute, got, want, err)
		}
	}
}

func TestCoverage(t *testing.T) {
	all := &tests{fires: []string{"A", "B"}, silent: []string{"A"}}
	if err := all.covers([]rule{{Alert: "A"}}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"B", "C"} {
		if err := all.covers([]rule{{Alert: name}}); err == nil {
			t.Errorf("alert %s has its tests", name)
		}
	}
}

func TestDashboards(t *testing.T) {
	c := testCatalog(t)
	const good = `{"uid": "a", "title": "A", "description": "A.", "templating": {"list": [
		{"name": "namespace", "type": "query", "query": {"query": "label_values(coderd_agents_connections, namespace)"}}]},
		"panels": [{"id": 1, "type": "stat", "title": "Agents", "description": "D.", "datasource": {"uid": "${datasource}"},
		"gridPos": {"x": 0, "y": 0, "w": 12, "h": 4}, "fieldConfig": {"defaults": {"unit": "short"}},
		"targets": [{"refId": "A", "expr": "sum(coderd_agents_connections{namespace=~\"$namespace\"})"}]}]}`
	if err := (boards{}).check(c, []byte(good)); err != nil {
		t.Error(err)
	}
	if err := (boards{"a": true}).check(c, []byte(good)); err == nil {
		t.Error("two dashboards have the same UID")
	}
	for old, changed := range map[string]string{
		`"short"`: `""`, `"D."`: `""`, `"Agents"`: `""`, `"w": 12`: `"w": 25`, `"refId": "A"`: `"refId": ""`, `$namespace`: `$cluster`, `${datasource}`: "other",
		"sum(": "rate(", "connections, namespace)": "connections, path)",
	} {
		if err := (boards{}).check(c, []byte(strings.Replace(good, old, changed, 1))); err == nil {
			t.Errorf("with %s, no error", changed)
		}
	}
}
