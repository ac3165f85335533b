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

// Plan is how the database ran a query.
type Plan struct {
	// Touched is how many rows it read from tables and indexes, those that it
	// then threw away included.
	Touched float64
	// Text is the plan, for a message.
	Text string
}

// Explain runs a query of sqlc, by the name of its source file and its own,
// with the parameters that sqlc made a struct of, and tells how that went. It
// measures work, not time. settings are put around it, such as
// "plan_cache_mode = force_custom_plan".
func Explain(t testing.TB, store *postgres.Store, file, query string, params any, settings ...string) Plan {
	t.Helper()
	b, err := os.ReadFile(root() + "internal/postgres/sqlc/" + file + ".sql.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "`-- name: "+query+" ")
	if !ok {
		t.Fatalf("there is no query %s in %s", query, file)
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
	defer tx.Rollback(context.Background()) //nolint:errcheck // nothing is to stay
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
	for _, one := range plans {
		one.Plan.add(&p, 0)
	}
	return p
}

// root returns the path to the root of the module from the directory of the test.
func root() string {
	for up := ""; len(up) < 3*16; up += "../" {
		if _, err := os.Stat(up + "go.mod"); err == nil {
			return up
		}
	}
	return ""
}

// node is a step of a plan.
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

func (n node) add(p *Plan, depth int) {
	touched := 0.0
	if strings.Contains(n.Type, "Scan") && n.Type != "Subquery Scan" && n.Type != "Function Scan" {
		touched = (n.Rows + n.Filtered + n.Rechecks) * n.Loops
	}
	p.Touched += touched
	p.Text += fmt.Sprintf("%s%s %s %s rows=%.0f loops=%.0f touched=%.0f\n", strings.Repeat("  ", depth), n.Type, n.Relation, n.Index, n.Rows, n.Loops, touched)
	for _, child := range n.Plans {
		child.add(p, depth+1)
	}
}
