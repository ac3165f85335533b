// Package metrics reads the metrics of the contract, and the catalog of those that a server
// exports.
package metrics

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/api/contract"
)

// File is the catalog of the metrics of a server, relative to a package
// of internal. tools/promcheck holds the queries of dashboards and alerts to it.
const File = "../../tools/promcheck/testdata/metrics.txt"

// Metric is the type of a metric and its labels, with their values if these are
// few.
type Metric struct {
	Type   string
	Labels map[string][]string
}

// Catalog returns the metrics of File by name.
func Catalog(t testing.TB) map[string]Metric {
	t.Helper()
	b, err := os.ReadFile(File)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Metric{}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] == "#" {
			continue
		}
		m := Metric{f[0], map[string][]string{}}
		for _, l := range f[2:] {
			name, values, _ := strings.Cut(l, "=")
			m.Labels[name] = strings.FieldsFunc(values, func(r rune) bool { return r == '|' })
		}
		all[f[1]] = m
	}
	return all
}

// ContractMetric is a metric of the contract.
type ContractMetric struct {
	Name, Type string
	Labels     []string
}

// Contract returns the metrics of the contract.
func Contract(t testing.TB) (all []ContractMetric) {
	t.Helper()
	b, err := contract.Files.ReadFile("metrics.json")
	if err == nil {
		err = json.Unmarshal(b, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}
