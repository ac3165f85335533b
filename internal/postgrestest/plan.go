package postgrestest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// Plan describes how PostgreSQL ran a query.
type Plan struct {
	// Touched is the number of rows that the query read from tables and indexes,
	// including rows that filters then removed.
	Touched float64
	// Text is the plan in a form for messages.
	Text string
}

// Explain runs a query of sqlc with EXPLAIN ANALYZE and returns the plan. file is
// the name of the SQL source file without extension, query is the name of the query,
// and params is the struct of parameters that sqlc generated. settings apply to this
// query only, such as "plan_cache_mode = force_custom_plan". The plan measures work,
// not time.
func Explain(t testing.TB, store *postgres.Store, file, query string, params any, settings ...string) Plan {
	t.Helper()
	b, err := os.ReadFile(moduleRoot() + "internal/postgres/sqlc/" + file + ".sql.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "`-- name: "+query+" ")
	if !ok {
		t.Fatalf("query %s not found in %s", query, file)
	}
	_, rest, _ = strings.Cut(rest, "\n")
	sql, _, _ := strings.Cut(rest, "`")
	var args []any
	v := reflect.ValueOf(params)
	for i := range v.NumField() {
		args = append(args, v.Field(i).Interface())
	}
	tx, err := store.Pool().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(context.Background()) //nolint:errcheck // a failed rollback changes nothing
	for _, s := range settings {
		if _, err := tx.Exec(t.Context(), "SET LOCAL "+s); err != nil {
			t.Fatal(err)
		}
	}
	var text []byte
	if err := tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, FORMAT JSON) "+sql, args...).Scan(&text); err != nil {
		t.Fatal(err)
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal(text, &plans); err != nil {
		t.Fatal(err)
	}
	p := Plan{}
	for _, entry := range plans {
		entry.Plan.addTo(&p, 0)
	}
	return p
}

// moduleRoot returns the relative path from the test's directory to the module root.
func moduleRoot() string {
	for up := ""; len(up) < 3*16; up += "../" {
		if _, err := os.Stat(up + "go.mod"); err == nil {
			return up
		}
	}
	return ""
}

// node is a node of a plan, as EXPLAIN prints it in JSON.
type node struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Filtered float64 `json:"Rows Removed by Filter"`
	Rechecks float64 `json:"Rows Removed by Index Recheck"`
	Plans    []node
}

// addTo adds the rows and the text of the node and of its children to p.
func (n node) addTo(p *Plan, depth int) {
	touched := 0.0
	if strings.Contains(n.Type, "Scan") && n.Type != "Subquery Scan" && n.Type != "Function Scan" {
		touched = (n.Rows + n.Filtered + n.Rechecks) * n.Loops
	}
	p.Touched += touched
	p.Text += fmt.Sprintf("%s%s %s %s rows=%.0f loops=%.0f touched=%.0f\n", strings.Repeat("  ", depth), n.Type, n.Relation, n.Index, n.Rows, n.Loops, touched)
	for _, child := range n.Plans {
		child.addTo(p, depth+1)
	}
}
