package postgrestest

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/embedded"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest/migrated"
)

// Cluster is a PostgreSQL that one test has for itself, and may stop.
type Cluster struct {
	t   testing.TB
	dir string

	mu      sync.Mutex // held while it is away
	running *embedded.Cluster
}

// NewCluster starts a migrated PostgreSQL that is removed at the end of the
// test.
func NewCluster(t testing.TB) *Cluster {
	t.Helper()
	dir, err := migrated.Copy()
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{t: t, dir: dir}
	c.start()
	t.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stop()
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Store opens the cluster's database.
func (c *Cluster) Store() *postgres.Store {
	c.t.Helper()
	s, err := postgres.Open(c.t.Context(), postgres.Config{URL: c.running.URL(), MaxOpen: 10})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(s.Close)
	return s
}

// Away stops PostgreSQL and returns once it has ended. It is started again
// after d. It may be called by any goroutine.
func (c *Cluster) Away(d time.Duration) {
	c.mu.Lock()
	c.stop()
	time.AfterFunc(d, func() {
		defer c.mu.Unlock()
		c.start()
	})
}

// Back waits until PostgreSQL runs.
func (c *Cluster) Back() {
	c.mu.Lock()
	defer c.mu.Unlock()
}

func (c *Cluster) start() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var err error
	c.running, err = embedded.Start(ctx, embedded.Config{
		Dir: c.dir, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Settings: map[string]string{"max_connections": "100", "shared_buffers": "16MB", "autovacuum": "off", "dynamic_shared_memory_type": "mmap"},
	})
	if err != nil {
		c.t.Error("start the test's PostgreSQL:", err)
	}
}

func (c *Cluster) stop() {
	if c.running == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.running.Stop(ctx); err != nil {
		c.t.Error("stop the test's PostgreSQL:", err)
	}
	c.running = nil
}
