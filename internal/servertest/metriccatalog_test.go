package servertest_test

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/contracttest/metrics"
)

var update = flag.Bool("update", false, "write the catalog of metrics")

const catalogHead = `# Metrics of a server: type, name and labels. Labels with few values have them. TestMetricsOfUse in
# internal/servertest holds this file to a used server, and writes what it shows with -update. Metrics and
# values that it does not show are added by hand; TestMetricsOfTheContract in internal/server requires them.
`

// fewValues are the labels whose values are a small set that queries can name.
func fewValues() []string {
	return []string{
		"action", "connection_type", "directory", "health", "is_prebuild", "lifecycle_state", "reason", "source", "state", "status", "success", "to", "transition",
		"type", "workspace_transition",
	}
}

func writeCatalog(t *testing.T, all map[string]metrics.Metric) {
	t.Helper()
	b := bytes.NewBufferString(catalogHead)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		b.WriteString(all[name].Type + " " + name)
		for _, l := range slices.Sorted(maps.Keys(all[name].Labels)) {
			b.WriteString(" " + l)
			if values := all[name].Labels[l]; len(values) > 0 {
				b.WriteString("=" + strings.Join(slices.Compact(slices.Sorted(slices.Values(values))), "|"))
			}
		}
		b.WriteString("\n")
	}
	must(t, os.WriteFile(metrics.File, b.Bytes(), 0o600))
}

// shown returns the metrics of a page, and the values of labels that have few.
func shown(t *testing.T, page string) map[string]metrics.Metric {
	t.Helper()
	types, all := map[string]string{}, map[string]metrics.Metric{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\w+) (\w+)$`).FindAllStringSubmatch(page, -1) {
		types[m[1]] = m[2]
	}
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	for name, list := range samples(t, page) {
		if family := suffix.ReplaceAllString(name, ""); types[family] == "histogram" || types[family] == "summary" {
			name = family
		}
		m := all[name]
		if m.Labels == nil {
			m = metrics.Metric{Type: types[name], Labels: map[string][]string{}}
		}
		for _, x := range list {
			for l, v := range x.labels {
				if l == "le" || l == "quantile" {
					continue
				}
				values := m.Labels[l]
				if slices.Contains(fewValues(), l) && v != "" && !slices.Contains(values, v) {
					values = append(values, v)
				}
				m.Labels[l] = values
			}
		}
		all[name] = m
	}
	return all
}

// checkCatalog requires that the catalog lists the metrics of the page with their
// types, labels and values.
func checkCatalog(t *testing.T, page string) {
	t.Helper()
	listed := metrics.Catalog(t)
	have := shown(t, page)
	for name, m := range have {
		l := listed[name]
		if *update {
			for label, values := range l.Labels {
				if _, ok := m.Labels[label]; ok {
					m.Labels[label] = append(m.Labels[label], values...)
				}
			}
			listed[name] = m
			continue
		}
		if m.Type != l.Type || !slices.Equal(slices.Sorted(maps.Keys(m.Labels)), slices.Sorted(maps.Keys(l.Labels))) {
			t.Errorf("the catalog has %s as %+v, the page as %+v; run the test with -update", name, l, m)
		}
		for label, values := range m.Labels {
			for _, v := range values {
				if !slices.Contains(l.Labels[label], v) {
					t.Errorf("%s has %s=%q, which the catalog lacks; run the test with -update", name, label, v)
				}
			}
		}
	}
	if *update {
		writeCatalog(t, listed)
	}
}
