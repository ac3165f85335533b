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

// Cluster is a PostgreSQL of a single test, which the test can stop.
type Cluster struct {
	t   testing.TB
	dir string

	mu      sync.Mutex // locked while PostgreSQL is stopped
	running *embedded.Cluster
}

// NewCluster starts a PostgreSQL whose database has the whole schema. The test's
// cleanup removes it.
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

// Store returns a store on the cluster's database. The test's cleanup closes it.
func (c *Cluster) Store() *postgres.Store {
	c.t.Helper()
	s, err := postgres.Open(c.t.Context(), postgres.Config{URL: c.running.URL(), MaxOpen: 10})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(s.Close)
	return s
}

// StopFor stops PostgreSQL and returns after the process has exited. PostgreSQL
// starts again after d. Any goroutine can call StopFor.
func (c *Cluster) StopFor(d time.Duration) {
	c.mu.Lock()
	c.stop()
	time.AfterFunc(d, func() {
		defer c.mu.Unlock()
		c.start()
	})
}

// WaitRunning waits until PostgreSQL runs again after StopFor.
func (c *Cluster) WaitRunning() {
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
