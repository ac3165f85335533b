// Package postgrestest creates a database for each test. Each test process runs one
// private PostgreSQL, which is a copy of a cached cluster with the whole schema.
// Each test gets a clone of its database, in about 20 milliseconds.
package postgrestest

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/embedded"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest/migrated"
)

// template is the database with the whole schema. Tests clone it. Nothing connects
// to it, because PostgreSQL cannot clone a database that is in use.
const template = "coder"

// cluster returns the base URL of PostgreSQL, which the first call starts. The
// kernel stops PostgreSQL when the test process ends.
var cluster = sync.OnceValues(startCluster)

var lastName struct {
	sync.Mutex
	n int
}

// New returns a store on a new database. The test's cleanup drops the database.
func New(t testing.TB) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: URL(t), MaxOpen: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// URL returns the connection URL of a new database with the whole schema, for code
// that opens the database itself.
func URL(t testing.TB) string {
	t.Helper()
	return createDatabase(t, "TEMPLATE "+template+" STRATEGY file_copy")
}

// Empty returns the connection URL of a new database without tables. options are
// options of CREATE DATABASE.
func Empty(t testing.TB, options string) string {
	t.Helper()
	return createDatabase(t, "TEMPLATE template0 "+options)
}

// createDatabase creates a database and returns its connection URL. The test's
// cleanup drops the database.
func createDatabase(t testing.TB, options string) string {
	t.Helper()
	base, err := cluster()
	if err != nil {
		t.Fatalf("start PostgreSQL for tests: %v", err)
	}
	lastName.Lock()
	lastName.n++
	name := fmt.Sprintf("test_%d", lastName.n)
	lastName.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := execAdmin(ctx, base, "CREATE DATABASE "+name+" "+options); err != nil {
		t.Fatalf("create the test's database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := execAdmin(ctx, base, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return databaseURL(base, name)
}

func startCluster() (string, error) {
	dir, err := migrated.Copy()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := embedded.Start(ctx, migrated.Config(dir))
	if err != nil {
		return "", err
	}
	return c.URL(), nil
}

// execAdmin runs an SQL statement in the database postgres.
func execAdmin(ctx context.Context, base, sql string) error {
	conn, err := pgx.Connect(ctx, databaseURL(base, "postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

func databaseURL(base, name string) string {
	u, err := url.Parse(base)
	if err != nil {
		panic(err) // package embedded built the URL
	}
	u.Path = "/" + name
	return u.String()
}
