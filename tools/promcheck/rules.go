package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
	"go.yaml.in/yaml/v3"
)

// rule is an alert.
type rule struct {
	Alert               string
	Expr                string
	For                 model.Duration
	Labels, Annotations map[string]string
}

func parseRules(b []byte) (all []rule, err error) {
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		return nil, err
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all, nil
}

// checkRules checks alerts: Prometheus knows every field, expressions ask for
// what servers have, and each alert has a severity, texts and a runbook.
func checkRules(c catalog, b []byte) ([]rule, error) {
	rules, err := parseRules(b)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var all []error
	for _, r := range rules {
		if r.Alert == "" || seen[r.Alert] {
			all = append(all, fmt.Errorf("an alert has no name or a duplicate one: %q", r.Alert))
		}
		seen[r.Alert] = true
		if err := errors.Join(c.checkQuery(r.Expr, false), r.checkTexts()); err != nil {
			all = append(all, fmt.Errorf("alert %s: %w", r.Alert, err))
		}
	}
	if len(rules) == 0 {
		all = append(all, errors.New("the file has no alerts"))
	}
	return rules, errors.Join(all...)
}

func (r rule) checkTexts() error {
	switch r.Labels["severity"] {
	case "info", "warning", "critical":
	default:
		return fmt.Errorf("severity %q is not info, warning or critical", r.Labels["severity"])
	}
	if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
		return errors.New("it lacks a summary or a description")
	}
	if want := ".md#" + strings.ToLower(r.Alert); !strings.HasSuffix(r.Annotations["runbook_url"], want) {
		return fmt.Errorf("runbook_url %q does not end in %s", r.Annotations["runbook_url"], want)
	}
	_, err := r.expand(promql.Sample{Metric: targets[0], F: 1})
	return err
}

// alert is a firing alert, with the labels and annotations that Prometheus sends.
type alert struct{ labels, annotations map[string]string }

// expand returns the alert of one element of the result.
func (r rule) expand(s promql.Sample) (alert, error) {
	a := alert{map[string]string{}, map[string]string{}}
	s.Metric.Range(func(l labels.Label) {
		if l.Name != labels.MetricName {
			a.labels[l.Name] = l.Value
		}
	})
	data := template.AlertTemplateData(a.labels, nil, "", s)
	text := func(text string) (string, error) {
		prefix := "{{$labels := .Labels}}{{$value := .Value}}"
		noQuery := func(context.Context, string, time.Time) (promql.Vector, error) {
			return nil, errors.New("texts of alerts ask nothing")
		}
		return template.NewTemplateExpander(context.Background(), prefix+text, r.Alert, data, model.Time(s.T), noQuery, &url.URL{}, nil).Expand()
	}
	var all []error
	for name, t := range r.Annotations {
		value, err := text(t)
		a.annotations[name], all = value, append(all, err)
	}
	own := map[string]string{}
	for name, t := range r.Labels {
		value, err := text(t)
		own[name], all = value, append(all, err)
	}
	for name, value := range own {
		a.labels[name] = value
	}
	return a, errors.Join(all...)
}

// firing evaluates the rule every interval until a time and returns the alerts
// that fire then.
func (r rule) firing(s series, interval, until time.Duration) (all []alert, err error) {
	since := map[string]time.Duration{}
	for at := time.Duration(0); at <= until; at += interval {
		result, _, err := evaluate(s, r.Expr, time.UnixMilli(at.Milliseconds()))
		if err != nil {
			return nil, err
		}
		active := map[string]time.Duration{}
		all = nil
		for _, x := range result {
			key := x.Metric.String()
			begin, ok := since[key]
			if !ok {
				begin = at
			}
			active[key] = begin
			if at-begin < time.Duration(r.For) {
				continue
			}
			a, err := r.expand(x)
			if err != nil {
				return nil, err
			}
			all = append(all, a)
		}
		since = active
	}
	return all, nil
}
