package postgres_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // driver of goose
	"github.com/pressly/goose/v3"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
)

// previousSchema is the newest schema version of the previous version, whose queries are in
// previousQueries. After a release, set it to that release's and run this package's tests
// with -update on its commit.
const (
	previousSchema  = 9
	previousQueries = "testdata/previous.sql"
)

var update = flag.Bool("update", false, "write the queries of this version to "+previousQueries)

// TestQueriesOfThePreviousVersion checks that every query of the previous version can run
// on the schema, as it does on servers that were not upgraded yet.
func TestQueriesOfThePreviousVersion(t *testing.T) {
	if *update {
		writeQueries(t)
	}
	text, err := os.ReadFile(previousQueries)
	if err != nil {
		t.Fatal(err)
	}
	store := postgrestest.New(t)
	conn, err := store.Pool().Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	queries := strings.Split("\n"+string(text), "\n-- name: ")[1:]
	for i, query := range queries {
		name, statement, _ := strings.Cut(query, "\n")
		if _, err := conn.Conn().Prepare(t.Context(), fmt.Sprintf("q%d", i), statement); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(queries) < 100 {
		t.Errorf("only %d queries were found", len(queries))
	}
}

// writeQueries writes the generated queries of this version.
func writeQueries(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("sqlc/*.sql.go")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?s)const \\w+ = `(-- name: .*?)`").FindAllStringSubmatch(string(text), -1) {
			all = append(all, strings.TrimSpace(m[1])+"\n")
		}
	}
	if err := os.WriteFile(previousQueries, []byte(strings.Join(all, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestSchemaOnlyExpands checks that tables of the previous version keep their columns, and
// that rows can be inserted into them without the new columns.
func TestSchemaOnlyExpands(t *testing.T) {
	url, db := migratedTo(t, previousSchema)
	before := columnsOf(t.Context(), t, db)
	if err := postgres.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	after := columnsOf(t.Context(), t, db)
	for table, columns := range before {
		for name, c := range columns {
			now, ok := after[table][name]
			switch {
			case !ok:
				t.Errorf("%s.%s is gone, which servers of the previous version use", table, name)
			case now.kind != c.kind:
				t.Errorf("%s.%s changed from %s to %s", table, name, c.kind, now.kind)
			case now.required && !c.required:
				t.Errorf("%s.%s is required, which servers of the previous version may leave out", table, name)
			}
		}
		for name, c := range after[table] {
			if _, known := columns[name]; !known && c.required {
				t.Errorf("%s.%s is new and required: servers of the previous version cannot insert rows", table, name)
			}
		}
	}
}

// migratedTo returns the URL and a connection pool of a new database with an earlier version of the schema.
func migratedTo(t *testing.T, version int64) (url string, db *sql.DB) {
	t.Helper()
	url = postgrestest.Empty(t, "")
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	dir, err := fs.Sub(postgres.Migrations(), "migrations")
	if err != nil {
		t.Fatal(err)
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.UpTo(t.Context(), version); err != nil {
		t.Fatal(err)
	}
	return url, db
}

// column is a column of a table. required means that inserts must set it.
type column struct {
	kind     string
	required bool
}

func columnsOf(ctx context.Context, t *testing.T, db *sql.DB) map[string]map[string]column {
	t.Helper()
	rows, err := db.QueryContext(ctx, `SELECT table_name, column_name, data_type, is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO' AND is_generated = 'NEVER'
		FROM information_schema.columns WHERE table_schema = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	out := map[string]map[string]column{}
	for rows.Next() {
		var table, name string
		var c column
		if err := rows.Scan(&table, &name, &c.kind, &c.required); err != nil {
			t.Fatal(err)
		}
		if out[table] == nil {
			out[table] = map[string]column{}
		}
		out[table][name] = c
	}
	return out
}
