// Package database opens the server's PostgreSQL: the one of the configuration,
// or a private cluster below the configuration directory. The commands that
// work on the database without a server use it too.
package database

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/embedded"
)

// authIAM is the value of Config.Auth for tokens of AWS IAM.
const authIAM = "awsiamrds"

// Config describes the database.
type Config struct {
	URL     string // "": the built-in database below ConfigDir
	Auth    string // "password", or "awsiamrds": a token of AWS IAM for each connection; "" is "password"
	MaxOpen int    // connections, at least 1
	MaxIdle string // a number or "auto"; "" is "auto"
	BinDir  string // PostgreSQL's programs for the built-in database; "": they are searched for
	// QueryMetrics measures every query and transaction.
	QueryMetrics bool
	Traced       bool // adds queries and transactions to traces
	// EncryptionKeys encrypt secrets: 32 bytes in base64 each, the newest first.
	// Without keys, the built-in database gets a generated one, and secrets in an
	// external database are not encrypted. The only element "none" turns it off.
	EncryptionKeys []string

	ConfigDir string // required
	CacheDir  string // required
	Log       *slog.Logger
}

// Check refuses options that contradict each other.
func (c Config) Check() error {
	if c.Auth != "" && c.Auth != "password" && c.Auth != authIAM {
		return codersdk.Errorf(codersdk.CodeInvalid, "--postgres-auth must be password or %s, got %q", authIAM, c.Auth)
	}
	if c.Auth == authIAM && c.URL == "" {
		return codersdk.Errorf(codersdk.CodeInvalid, "--postgres-auth %s needs --postgres-url: the built-in database has a password of its own", authIAM)
	}
	_, err := c.maxIdle()
	return err
}

// Secrets returns the secrets of the configuration, for redaction.
func (c Config) Secrets() []string {
	if c.unencrypted() {
		return []string{c.URL}
	}
	return append([]string{c.URL}, c.EncryptionKeys...)
}

// maxIdle returns the number of idle connections that stay open; 0 lets the
// store choose a third of all.
func (c Config) maxIdle() (int, error) {
	if c.MaxIdle == "" || c.MaxIdle == "auto" {
		return 0, nil
	}
	n, err := strconv.Atoi(c.MaxIdle)
	if err != nil || n < 0 {
		return 0, codersdk.Errorf(codersdk.CodeInvalid, "--postgres-conn-max-idle must be a number or auto, got %q", c.MaxIdle)
	}
	return n, nil
}

// Database is the store and, if the server runs its own, the cluster under it.
type Database struct {
	Store   *postgres.Store
	Cluster *embedded.Cluster // nil with Config.URL
}

// Open starts the built-in PostgreSQL if the configuration has no URL, migrates
// the schema and connects. Metrics of the database go to metrics, unless it is
// nil.
func Open(ctx context.Context, c Config, metrics prometheus.Registerer) (*Database, error) {
	d, url := &Database{}, c.URL
	if url == "" {
		cluster, err := StartEmbedded(ctx, c)
		if err != nil {
			return nil, err
		}
		d.Cluster, url = cluster, cluster.URL()
	}
	conf, err := c.postgres(ctx, url)
	if err == nil {
		err = postgres.MigrateWith(ctx, conf)
	}
	if err == nil {
		conf.Registerer, conf.QueryMetrics, conf.Traced = metrics, c.QueryMetrics, c.Traced
		d.Store, err = postgres.Open(ctx, conf)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close(ctx))
	}
	return d, nil
}

// postgres returns how to connect to the database of that URL.
func (c Config) postgres(ctx context.Context, url string) (postgres.Config, error) {
	idle, err := c.maxIdle()
	conf := postgres.Config{URL: url, MaxOpen: c.MaxOpen, MaxIdle: idle}
	if err != nil || c.Auth != authIAM || c.URL == "" {
		return conf, err
	}
	return conf.WithAWSTokens(ctx)
}

// Close ends the connections and stops the built-in PostgreSQL.
func (d *Database) Close(ctx context.Context) error {
	if d.Store != nil {
		d.Store.Close()
	}
	if d.Cluster != nil {
		return d.Cluster.Stop(ctx)
	}
	return nil
}

// embeddedDir returns the directory of the built-in PostgreSQL.
func embeddedDir(configDir string) (string, error) {
	return filepath.Abs(filepath.Join(configDir, "postgres"))
}

// StartEmbedded starts only the built-in PostgreSQL of c.ConfigDir.
func StartEmbedded(ctx context.Context, c Config) (*embedded.Cluster, error) {
	dir, err := embeddedDir(c.ConfigDir)
	if err != nil {
		return nil, err
	}
	return embedded.Start(ctx, embedded.Config{Dir: dir, BinDir: c.BinDir, CacheDir: c.CacheDir, Log: c.Log})
}

// EmbeddedURL returns the connection URL of the built-in PostgreSQL of a
// configuration directory, which need not run.
func EmbeddedURL(configDir string) (string, error) {
	dir, err := embeddedDir(configDir)
	if err != nil {
		return "", err
	}
	return embedded.URL(dir)
}

// With calls fn with the database of c. The built-in database is started for the
// call unless a server runs it.
func With(ctx context.Context, c Config, fn func(*postgres.Store) error) error {
	if c.URL == "" {
		if url, err := EmbeddedURL(c.ConfigDir); err == nil {
			if store, err := postgres.Open(ctx, postgres.Config{URL: url}); err == nil {
				defer store.Close()
				return fn(store)
			}
		}
	}
	d, err := Open(ctx, c, nil)
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	return errors.Join(fn(d.Store), d.Close(ctx))
}
