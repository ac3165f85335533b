package main

import (
	"fmt"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// metric is the type of a metric and its labels, with their values if these are
// few.
type metric struct {
	kind   string
	labels map[string][]string
}

// catalog is the metrics of a server by name.
type catalog map[string]metric

func readCatalog(text string) (catalog, error) {
	all := catalog{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		if len(f) < 2 {
			return nil, fmt.Errorf("%q is not a type and a name", line)
		}
		m := metric{f[0], map[string][]string{}}
		for _, l := range f[2:] {
			name, values, _ := strings.Cut(l, "=")
			m.labels[name] = strings.FieldsFunc(values, func(r rune) bool { return r == '|' })
		}
		all[f[1]] = m
	}
	return all, nil
}

// find returns the metric that has series of that name.
func (c catalog) find(series string) (metric, error) {
	if m, ok := c[series]; ok && m.kind != "histogram" && m.kind != "summary" {
		return m, nil
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		name, ok := strings.CutSuffix(series, suffix)
		m, known := c[name]
		if !ok || !known || m.kind != "histogram" && (m.kind != "summary" || suffix == "_bucket") {
			continue
		}
		if suffix == "_bucket" {
			return metric{m.kind, with(m.labels, "le")}, nil
		}
		return m, nil
	}
	return metric{}, fmt.Errorf("no server has the metric %s", series)
}

func with(m map[string][]string, label string) map[string][]string {
	out := map[string][]string{label: nil}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// targets are the labels that Prometheus adds to each series: on Kubernetes, and
// without it.
var targets = []labels.Labels{
	labels.FromStrings("instance", "10.0.0.1:2112", "job", "coder", "namespace", "coder", "pod", "coder-1"),
	labels.FromStrings("instance", "10.0.0.2:2112", "job", "coder", "namespace", "coder", "pod", "coder-2"),
	labels.FromStrings("instance", "coder.example.com:2112", "job", "coder"),
}

// ofTarget reports whether Prometheus adds a label.
func ofTarget(label string) bool { return targets[0].Has(label) }

// sampled returns series of every metric and of every value of its labels, from
// the given targets, with a value each minute for three hours.
func (c catalog) sampled(from []labels.Labels) series {
	var out series
	for name, m := range c {
		for _, t := range from {
			for _, l := range combinations(m.labels) {
				b := labels.NewBuilder(t)
				for k, v := range l {
					b.Set(k, v)
				}
				if m.kind == "histogram" {
					out = append(out, steady(b, name+"_sum", 1), steady(b, name+"_count", 4))
					for i, le := range []string{"0.1", "1", "10", "+Inf"} {
						out = append(out, steady(b.Set("le", le), name+"_bucket", float64(i+1)))
					}
					continue
				}
				out = append(out, steady(b, name, 1))
			}
		}
	}
	return out
}

// combinations returns every combination of the values of labels.
func combinations(of map[string][]string) []map[string]string {
	all := []map[string]string{{}}
	for name, values := range of {
		switch {
		case strings.HasSuffix(name, "code"):
			values = []string{"200", "500"}
		case len(values) == 0:
			values = []string{"1"}
		}
		var next []map[string]string
		for _, have := range all {
			for _, v := range values {
				one := map[string]string{name: v}
				for k, x := range have {
					one[k] = x
				}
				next = append(next, one)
			}
		}
		all = next
	}
	return all
}

// steady returns a series that begins with 5 and rises by the same each minute.
func steady(b *labels.Builder, name string, rise float64) one {
	out := one{labels: b.Set(labels.MetricName, name).Labels()}
	for minute := range int64(181) {
		out.samples = append(out.samples, sample{minute * 60_000, 5 + rise*float64(minute)})
	}
	return out
}
