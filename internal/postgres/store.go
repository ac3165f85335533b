// Package postgres is all SQL of the platform: the schema in migrations, the
// queries in queries, what sqlc makes of them in sqlc, and here the store that
// runs them, retries transactions that lost a race, and turns what PostgreSQL
// says into the codes of the root package. It holds no rule.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Config says how to reach the database.
type Config struct {
	URL     string // connection URL or key=value pairs
	MaxOpen int    // connections at most; 0 means 10
	MaxIdle int    // connections kept when idle; 0 means a third of MaxOpen
}

// Store runs queries. Its methods are those of sqlc, each outside of any
// transaction; Tx runs several in one. Errors carry the codes of package coder.
type Store struct {
	*sqlc.Queries
	pool *pgxpool.Pool
}

// Open connects and checks that the database answers. The caller closes.
func Open(ctx context.Context, c Config) (*Store, error) {
	pc, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, errors.New("the PostgreSQL connection URL cannot be read: use postgres://user:password@host:port/database?sslmode=disable") // the cause would quote the password
	}
	if c.MaxOpen <= 0 {
		c.MaxOpen = 10
	}
	if c.MaxIdle <= 0 {
		c.MaxIdle = max(1, c.MaxOpen/3)
	}
	pc.MaxConns = int32(c.MaxOpen)
	pc.MinIdleConns = 1
	pc.MaxConnIdleTime = 5 * time.Minute
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	return &Store{Queries: sqlc.New(mapped{pool}), pool: pool}, nil
}

// Close ends all connections, waiting for those in use.
func (s *Store) Close() { s.pool.Close() }

// Pool is for what needs a connection of its own: LISTEN, advisory locks, statistics.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Ping measures one round trip.
func (s *Store) Ping(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	err := s.pool.Ping(ctx)
	return time.Since(start), err
}

// txAttempts bounds how often a transaction that lost a race is run.
const txAttempts = 5

// Tx runs fn in a transaction, again when the database says that a race was
// lost (40001, 40P01). fn must therefore have no effect outside of q, and no
// network but q. Hints go out after Tx returned nil.
func (s *Store) Tx(ctx context.Context, fn func(q *sqlc.Queries) error) error {
	var err error
	for range txAttempts {
		if err = s.once(ctx, "begin", fn); !lostRace(err) {
			return mapError(err)
		}
	}
	return mapError(err)
}

// Snapshot runs fn, which only reads, so that all it reads is as it was at one
// moment: what a transaction changes is seen whole or not at all.
func (s *Store) Snapshot(ctx context.Context, fn func(q *sqlc.Queries) error) error {
	return mapError(s.once(ctx, "begin isolation level repeatable read read only", fn))
}

func (s *Store) once(ctx context.Context, begin string, fn func(q *sqlc.Queries) error) (err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	tx := &lazyTx{conn: conn, how: begin}
	defer func() {
		if p := recover(); p != nil {
			tx.end(ctx, errors.New("panic")) //nolint:errcheck // it panics on
			panic(p)
		}
	}()
	return tx.end(ctx, fn(sqlc.New(mapped{tx})))
}

// mapped turns the errors of a connection into those of package coder.
type mapped struct{ db sqlc.DBTX }

func (m mapped) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	tag, err := m.db.Exec(ctx, sql, args...)
	return tag, mapError(err)
}

func (m mapped) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	rows, err := m.db.Query(ctx, sql, args...)
	return mappedRows{rows}, mapError(err)
}

func (m mapped) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return mappedRow{m.db.QueryRow(ctx, sql, args...)}
}

func (m mapped) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, src pgx.CopyFromSource) (int64, error) {
	c, ok := m.db.(interface {
		CopyFrom(context.Context, pgx.Identifier, []string, pgx.CopyFromSource) (int64, error)
	})
	if !ok {
		return 0, errors.New("this connection cannot COPY")
	}
	n, err := c.CopyFrom(ctx, table, columns, src)
	return n, mapError(err)
}

type mappedRow struct{ row pgx.Row }

func (r mappedRow) Scan(dest ...any) error { return mapError(r.row.Scan(dest...)) }

type mappedRows struct{ pgx.Rows }

func (r mappedRows) Err() error             { return mapError(r.Rows.Err()) }
func (r mappedRows) Scan(dest ...any) error { return mapError(r.Rows.Scan(dest...)) }
