// Promcheck reads files of Prometheus rules (YAML) and Grafana dashboards (JSON),
// and fails where Prometheus would not take a rule or an expression.
//
//	promcheck FILE...
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
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
	_, errs := rulefmt.Parse(b, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	return errors.Join(errs...)
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
