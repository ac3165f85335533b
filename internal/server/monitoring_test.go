package server_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"gopkg.in/yaml.v3"
)

const monitoring = "../../deploy/charts/coder/monitoring/"

// TestMonitoring holds the alerts and the dashboard of the chart to the metrics
// that a server exports, by name and labels; tools/promcheck holds them to the
// language.
func TestMonitoring(t *testing.T) {
	c := config(t)
	c.ProvisionerDaemons = 1 // has the metrics of builds
	s := start(t, c)
	exported := map[string]string{} // labels by metric
	for d := range descriptions(s.Registry()) {
		m := regexp.MustCompile(`fqName: "([^"]+)".*constLabels: {([^}]*)}, variableLabels: {([^}]*)}`).FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("cannot read %s", d)
		}
		exported[m[1]] += "," + m[2] + "," + m[3]
	}
	name := regexp.MustCompile(`\b((?:agent|coderd|go|process|promhttp)_[a-z0-9_]+)(?:{([^}]*)})?`)
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	label := regexp.MustCompile(`([a-z_]+)(?:=~|=|!=|!~)"`)
	seen := 0
	for _, e := range expressions(t) {
		for _, m := range name.FindAllStringSubmatch(e, -1) {
			seen++
			labels, ok := exported[m[1]]
			if !ok {
				labels, ok = exported[suffix.ReplaceAllString(m[1], "")]
			}
			if !ok {
				t.Errorf("no server exports %s, which is in %s", m[1], e)
				continue
			}
			for _, l := range label.FindAllStringSubmatch(m[2], -1) {
				// The namespace is of whoever scrapes.
				if l[1] != "namespace" && !regexp.MustCompile(`\b`+l[1]+`\b`).MatchString(labels) {
					t.Errorf("%s has no label %s, which is in %s", m[1], l[1], e)
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d metrics were found", seen)
	}
}

func descriptions(r *prometheus.Registry) <-chan *prometheus.Desc {
	c := make(chan *prometheus.Desc)
	go func() {
		defer close(c)
		r.Describe(c)
	}()
	return c
}

// expressions gives all that the two files ask Prometheus for.
func expressions(t *testing.T) []string {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct{ Expr string }
		}
	}
	var board struct {
		Panels     []struct{ Targets []struct{ Expr string } }
		Templating struct {
			List []struct{ Query any }
		}
	}
	for name, to := range map[string]any{"rules.yaml": &rules, "dashboard.json": &board} {
		b, err := os.ReadFile(filepath.Join(monitoring, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "rules.yaml" {
			err = yaml.Unmarshal(b, to)
		} else {
			err = json.Unmarshal(b, to)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	var out []string
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			out = append(out, r.Expr)
		}
	}
	for _, p := range board.Panels {
		for _, x := range p.Targets {
			out = append(out, x.Expr)
		}
	}
	for _, v := range board.Templating.List {
		if q, ok := v.Query.(map[string]any); ok {
			out = append(out, q["query"].(string))
		}
	}
	return out
}
