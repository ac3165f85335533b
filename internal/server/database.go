package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/embedded"
)

// databaseDir is where the built-in PostgreSQL of a configuration directory lives.
func databaseDir(configDir string) (string, error) {
	return filepath.Abs(filepath.Join(configDir, "postgres"))
}

// database is the store and, when the server runs its own, the cluster under it.
type database struct {
	store   *postgres.Store
	cluster *embedded.Cluster
	url     string
}

// openDatabase starts the built-in PostgreSQL when no URL is given, brings the
// schema up to date and connects.
func openDatabase(ctx context.Context, c Config) (*database, error) {
	d := &database{url: c.PostgresURL}
	if d.url == "" {
		cl, err := StartEmbedded(ctx, c)
		if err != nil {
			return nil, err
		}
		d.cluster, d.url = cl, cl.URL()
	}
	idle, err := c.maxIdle()
	if err == nil {
		err = postgres.Migrate(ctx, d.url)
	}
	if err == nil {
		d.store, err = postgres.Open(ctx, postgres.Config{URL: d.url, MaxOpen: c.PostgresMaxOpen, MaxIdle: idle})
	}
	if err != nil {
		return nil, errors.Join(err, d.close(ctx))
	}
	return d, nil
}

func (d *database) close(ctx context.Context) error {
	if d.store != nil {
		d.store.Close()
	}
	if d.cluster != nil {
		return d.cluster.Stop(ctx)
	}
	return nil
}

// StartEmbedded starts the built-in PostgreSQL of c.ConfigDir by itself.
func StartEmbedded(ctx context.Context, c Config) (*embedded.Cluster, error) {
	dir, err := databaseDir(c.ConfigDir)
	if err != nil {
		return nil, err
	}
	return embedded.Start(ctx, embedded.Config{Dir: dir, BinDir: c.PostgresBinDir, CacheDir: c.CacheDir, Log: c.Log})
}

// EmbeddedURL gives the connection URL of the built-in PostgreSQL of a
// configuration directory, whether it runs or not.
func EmbeddedURL(configDir string) (string, error) {
	dir, err := databaseDir(configDir)
	if err != nil {
		return "", err
	}
	return embedded.URL(dir)
}

// withStore runs fn on the database of c: the given one, or the built-in one,
// which is started for the while unless a server runs it already.
func withStore(ctx context.Context, c Config, fn func(*postgres.Store) error) error {
	if c.PostgresURL == "" {
		if url, err := EmbeddedURL(c.ConfigDir); err == nil {
			if store, err := postgres.Open(ctx, postgres.Config{URL: url}); err == nil {
				defer store.Close()
				return fn(store)
			}
		}
	}
	d, err := openDatabase(ctx, c)
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	return errors.Join(fn(d.store), d.close(ctx))
}
