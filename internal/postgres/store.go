// Package postgres contains all SQL of the platform: the schema in migrations, the queries in queries, their
// generated code in sqlc, and the Store that runs them, retries transactions after serialization failures,
// and maps errors of PostgreSQL to codes of codersdk. It contains no rules.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/rds"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// Config configures a Store.
type Config struct {
	URL     string // connection URL or key=value pairs
	MaxOpen int    // maximum number of connections; 0 means 10
	MaxIdle int    // maximum number of idle connections; 0 means a third of MaxOpen
	// Password sets the password of each new connection; nil uses that of URL.
	Password func(context.Context, *pgx.ConnConfig) error
	// Registerer registers metrics of the pool and, with QueryMetrics, of queries and
	// transactions; nil for none.
	Registerer   prometheus.Registerer
	QueryMetrics bool
	// Traced adds spans of queries and transactions to the traces of their contexts.
	Traced bool
}

// WithAWSTokens returns c with AWS IAM tokens as passwords, see package rds.
func (c Config) WithAWSTokens(ctx context.Context) (Config, error) {
	tokens, err := rds.Load(ctx)
	if err == nil {
		c.Password = tokens.Password
	}
	return c, err
}

// errURL is the error for an invalid URL. The original error would quote the password.
func errURL() error {
	return errors.New("the PostgreSQL connection URL is not valid; use postgres://user:password@host:port/database?sslmode=disable")
}

// Store runs queries. Its methods are those of sqlc, each outside of a transaction; Tx runs several in one.
// Errors have the codes of package codersdk.
type Store struct {
	*sqlc.Queries
	pool    *pgxpool.Pool
	timings *timings // nil: queries are not measured
	traced  bool
	locks   chan struct{} // filled by the sessions that hold locks of Exclusively
}

// Open connects to the database and checks that it responds. The caller calls Close.
func Open(ctx context.Context, c Config) (*Store, error) {
	pc, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, errURL()
	}
	if c.MaxOpen <= 0 {
		c.MaxOpen = 10
	}
	if c.MaxIdle <= 0 {
		c.MaxIdle = max(1, c.MaxOpen/3)
	}
	c.MaxOpen = max(c.MaxOpen, 2) // a lock has a connection of its own beside that of its holder's queries
	pc.MaxConns = int32(c.MaxOpen)
	pc.BeforeConnect = c.Password
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
	s := &Store{pool: pool, traced: c.Traced, locks: make(chan struct{}, c.MaxOpen/2)}
	if c.Registerer != nil {
		c.Registerer.MustRegister(newPoolCollector(pool))
		if c.QueryMetrics {
			s.timings = newTimings(c.Registerer)
		}
	}
	s.Queries = s.queries(context.Background(), mapped{pool})
	return s, nil
}

// queries returns the queries of a connection, measured and traced if enabled.
// tx is the context of their transaction, if there is one.
func (s *Store) queries(tx context.Context, db sqlc.DBTX) *sqlc.Queries {
	if s.timings != nil {
		db = timed{db, s.timings}
	}
	if s.traced {
		db = traced{db: db, tx: tx}
	}
	return sqlc.New(db)
}

// Close closes all connections after those in use were returned.
func (s *Store) Close() { s.pool.Close() }

// Pool returns the pool, for LISTEN, advisory locks and statistics.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Ping measures one round trip.
func (s *Store) Ping(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	err := s.pool.Ping(ctx)
	return time.Since(start), err
}

// txAttempts is the maximum number of attempts of a transaction.
const txAttempts = 5

// Tx runs fn in a transaction and retries it after serialization failures and deadlocks (40001, 40P01). fn
// must have no effects outside of q and use no network except q. Send notifications after Tx has returned
// nil.
func (s *Store) Tx(ctx context.Context, fn func(q *sqlc.Queries) error) error {
	return s.measured(ctx, func(ctx context.Context) (attempts int, err error) {
		for range txAttempts {
			attempts++
			if err = s.once(ctx, "begin", fn); !lostRace(err) {
				break
			}
		}
		return attempts, err
	})
}

// Snapshot runs fn, which only reads, on a consistent snapshot of the database.
func (s *Store) Snapshot(ctx context.Context, fn func(q *sqlc.Queries) error) error {
	return s.measured(ctx, func(ctx context.Context) (int, error) {
		return 1, s.once(ctx, "begin isolation level repeatable read read only", fn)
	})
}

// measured runs a transaction for the caller of its caller, which names the
// transaction in metrics and traces.
func (s *Store) measured(ctx context.Context, run func(context.Context) (attempts int, err error)) error {
	if s.timings == nil && !s.traced {
		_, err := run(ctx)
		return mapError(err)
	}
	begin, caller := time.Now(), callerName(2)
	span := tracing.None()
	if s.traced {
		ctx, span = tracing.Start(ctx, "transaction "+caller)
	}
	attempts, err := run(ctx)
	if s.timings != nil {
		s.timings.transaction(begin, caller, attempts, err)
	}
	err = mapError(err)
	tracing.End(span, err)
	return err
}

func (s *Store) once(ctx context.Context, begin string, fn func(q *sqlc.Queries) error) (err error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	tx := &lazyTx{conn: conn, how: begin}
	defer func() {
		if p := recover(); p != nil {
			tx.end(ctx, errors.New("panic")) //nolint:errcheck // the panic continues
			panic(p)
		}
	}()
	return tx.end(ctx, fn(s.queries(ctx, mapped{tx})))
}

// mapped maps the errors of a connection to those of codersdk.
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
