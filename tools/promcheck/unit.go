package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"go.yaml.in/yaml/v3"
)

// tests are the unit tests of alerts that were run.
type tests struct{ fires, silent []string }

// file is a file of unit tests, in the form of `promtool test rules`.
type file struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []struct {
		Name        string
		Interval    model.Duration
		InputSeries []struct{ Series, Values string } `yaml:"input_series"`
		Alerts      []expectation                     `yaml:"alert_rule_test"`
	}
}

// expectation is which alerts fire at a time.
type expectation struct {
	EvalTime  model.Duration `yaml:"eval_time"`
	Alertname string
	Expected  []struct {
		Labels      map[string]string `yaml:"exp_labels"`
		Annotations map[string]string `yaml:"exp_annotations"`
	} `yaml:"exp_alerts"`
}

// run runs the unit tests of a file.
func (t *tests) run(path string, b []byte) error {
	var f file
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil {
		return err
	}
	rules := map[string]rule{}
	for _, name := range f.RuleFiles {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
		if err != nil {
			return err
		}
		list, err := parseRules(b)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, r := range list {
			rules[r.Alert] = r
		}
	}
	var all []error
	for _, one := range f.Tests {
		var s series
		for _, in := range one.InputSeries {
			x, err := parseSeries(in.Series, in.Values, time.Duration(one.Interval))
			if err != nil {
				return fmt.Errorf("test %q: %w", one.Name, err)
			}
			s = append(s, x)
		}
		for _, e := range one.Alerts {
			if err := t.expect(rules, e, s, time.Duration(f.EvaluationInterval)); err != nil {
				all = append(all, fmt.Errorf("test %q: %s at %s: %w", one.Name, e.Alertname, e.EvalTime, err))
			}
		}
	}
	return errors.Join(all...)
}

// parseSeries reads a series in Prometheus' notation, such as "0+1x10".
func parseSeries(name, values string, interval time.Duration) (out one, err error) {
	l, list, err := language.ParseSeriesDesc(name + " " + values)
	if err != nil {
		return out, fmt.Errorf("series %s: %w", name, err)
	}
	out.labels = l
	for i, v := range list {
		if !v.Omitted {
			out.samples = append(out.samples, chunks.Sample(sample{interval.Milliseconds() * int64(i), v.Value}))
		}
	}
	return out, nil
}

// expect evaluates an alert and compares what fires.
func (t *tests) expect(rules map[string]rule, e expectation, s series, interval time.Duration) error {
	r, ok := rules[e.Alertname]
	if !ok {
		return errors.New("no such alert")
	}
	if len(e.Expected) > 0 {
		t.fires = append(t.fires, e.Alertname)
	} else {
		t.silent = append(t.silent, e.Alertname)
	}
	fired, err := r.firing(s, interval, time.Duration(e.EvalTime))
	if err != nil {
		return err
	}
	var want, got []string
	for _, x := range e.Expected {
		want = append(want, fmt.Sprint(x.Labels, x.Annotations))
	}
	for _, a := range fired {
		got = append(got, fmt.Sprint(a.labels, a.annotations))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		return fmt.Errorf("fires %q, want %q", got, want)
	}
	return nil
}

// covers requires of each alert a test in which it fires and one in which it does
// not.
func (t *tests) covers(alerts []rule) error {
	missing := map[string]bool{}
	for _, a := range alerts {
		if !slices.Contains(t.fires, a.Alert) || !slices.Contains(t.silent, a.Alert) {
			missing[a.Alert] = true
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("no unit test in which these alerts fire, or none in which they do not: %q", slices.Sorted(maps.Keys(missing)))
	}
	return nil
}
