// Package postgrestest gives each test a database of its own: one private
// PostgreSQL per test process, copied from a cached one that is migrated, and a
// clone of its database per test in some twenty milliseconds.
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

// template is the migrated database, to which nothing connects.
const template = "coder"

// cluster is started by the first test that wants a database and ends with the
// process: the kernel stops it.
var cluster = sync.OnceValues(start)

var names struct {
	sync.Mutex
	n int
}

// New returns a store on a fresh database that is dropped at the end of the test.
func New(t testing.TB) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: URL(t), MaxOpen: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// URL returns the connection URL of a fresh database, for what opens it itself.
func URL(t testing.TB) string {
	t.Helper()
	return create(t, "TEMPLATE "+template+" STRATEGY file_copy")
}

// Empty returns the connection URL of a database without tables; options are
// those of CREATE DATABASE.
func Empty(t testing.TB, options string) string {
	t.Helper()
	return create(t, "TEMPLATE template0 "+options)
}

// create makes a database that is dropped at the end of the test.
func create(t testing.TB, options string) string {
	t.Helper()
	base, err := cluster()
	if err != nil {
		t.Fatalf("no PostgreSQL for tests: %v", err)
	}
	names.Lock()
	names.n++
	name := fmt.Sprintf("test_%d", names.n)
	names.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := admin(ctx, base, "CREATE DATABASE "+name+" "+options); err != nil {
		t.Fatalf("create the test's database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := admin(ctx, base, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return database(base, name)
}

func start() (string, error) {
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

func admin(ctx context.Context, base, sql string) error {
	conn, err := pgx.Connect(ctx, database(base, "postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

func database(base, name string) string {
	u, err := url.Parse(base)
	if err != nil {
		panic(err) // our own URL
	}
	u.Path = "/" + name
	return u.String()
}
