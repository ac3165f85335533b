// Promcheck reads files of Prometheus rules (YAML) and Grafana dashboards (JSON),
// and fails where Prometheus would not take a rule or an expression.
//
//	promcheck FILE...
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: promcheck FILE...")
		os.Exit(2)
	}
	failed := false
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			failed = true
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
		}
	}
	if failed {
		os.Exit(1)
	}
}

func check(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if strings.HasSuffix(path, ".json") {
		return dashboard(b)
	}
	return rules(b)
}

// rules checks alerts: every field is one that Prometheus knows, expressions and
// durations parse, and texts are templates of labels and a value.
func rules(b []byte) error {
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert               string
				Expr                string
				For                 model.Duration
				Labels, Annotations map[string]string
			}
		}
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		return err
	}
	p := parser.NewParser(parser.Options{})
	same := func(x any) any { return x }
	functions := template.FuncMap{"humanize": same, "humanizeDuration": same, "humanizePercentage": same}
	seen := map[string]bool{}
	var all []error
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Alert == "" || seen[r.Alert] {
				all = append(all, fmt.Errorf("group %q: an alert has no name, or one that another has: %q", g.Name, r.Alert))
			}
			seen[r.Alert] = true
			if _, err := p.ParseExpr(r.Expr); err != nil {
				all = append(all, fmt.Errorf("alert %s: %w", r.Alert, err))
			}
			for name, text := range r.Annotations {
				if _, err := template.New(name).Funcs(functions).Parse("{{$labels := 0}}{{$value := 0}}" + text); err != nil {
					all = append(all, fmt.Errorf("alert %s: %w", r.Alert, err))
				}
			}
		}
	}
	if len(seen) == 0 {
		all = append(all, errors.New("there are no alerts"))
	}
	return errors.Join(all...)
}

// dashboard parses every expression, with the variables that Grafana puts in.
func dashboard(b []byte) error {
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return err
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$namespace", ".*", "$organization", ".*")
	p := parser.NewParser(parser.Options{})
	var all []error
	n := 0
	for _, panel := range d.Panels {
		for _, t := range panel.Targets {
			n++
			if _, err := p.ParseExpr(variables.Replace(t.Expr)); err != nil {
				all = append(all, fmt.Errorf("panel %q: %w", panel.Title, err))
			}
		}
	}
	if n == 0 {
		all = append(all, errors.New("no panel has an expression"))
	}
	return errors.Join(all...)
}
