// Package postgrestest gives each test a database of its own: one private
// PostgreSQL per test process, one migrated template in it, and a clone of the
// template per test in some twenty milliseconds.
package postgrestest

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/embedded"
)

const template = "coder_template"

// cluster is started by the first test that wants a database and ends with the
// process: the kernel stops it.
var cluster = sync.OnceValues(start)

var names struct {
	sync.Mutex
	n int
}

// New gives a store on a fresh database that is dropped at the end of the test.
func New(t testing.TB) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: URL(t), MaxOpen: 10})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// URL gives the connection URL of a fresh database, for what opens it itself.
func URL(t testing.TB) string {
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
	if err := admin(ctx, base, "CREATE DATABASE "+name+" TEMPLATE "+template+" STRATEGY file_copy"); err != nil {
		t.Fatalf("clone the template database: %v", err)
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
	root := filepath.Join(os.TempDir(), "coder-test-postgres")
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", err
	}
	sweep(root)
	dir := filepath.Join(root, strconv.Itoa(os.Getpid()))
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c, err := embedded.Start(ctx, embedded.Config{
		Dir: dir, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Settings: map[string]string{
			"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
			"max_connections": "300", "shared_buffers": "64MB", "autovacuum": "off", "max_wal_size": "4GB",
		},
	})
	if err != nil {
		return "", err
	}
	if err := admin(ctx, c.URL(), "CREATE DATABASE "+template); err != nil {
		return "", err
	}
	return c.URL(), postgres.Migrate(ctx, database(c.URL(), template))
}

// sweep removes what test processes that are gone left behind.
func sweep(root string) {
	entries, _ := os.ReadDir(root)
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && syscall.Kill(pid, 0) != nil {
			os.RemoveAll(filepath.Join(root, e.Name())) //nolint:errcheck // the next process tries again
		}
	}
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
