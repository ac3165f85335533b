package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// lazyTx is a transaction that starts together with its first statement, in one message, which saves a
// round trip. A transaction without statements costs nothing.
type lazyTx struct {
	conn  *pgxpool.Conn
	how   string // the statement that starts the transaction
	begun bool
}

// begin sends BEGIN and the statement, and returns the results of the statement. The caller closes them.
func (t *lazyTx) begin(ctx context.Context, sql string, args []any) (pgx.BatchResults, error) {
	t.begun = true
	var b pgx.Batch
	b.Queue(t.how)
	b.Queue(sql, args...)
	r := t.conn.SendBatch(ctx, &b)
	if _, err := r.Exec(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (t *lazyTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if t.begun {
		return t.conn.Exec(ctx, sql, args...)
	}
	r, err := t.begin(ctx, sql, args)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := r.Exec()
	if end := r.Close(); err == nil {
		err = end
	}
	return tag, err
}

func (t *lazyTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if t.begun {
		return t.conn.Query(ctx, sql, args...)
	}
	r, err := t.begin(ctx, sql, args)
	if err != nil {
		return nil, err
	}
	rows, err := r.Query()
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return firstRows{rows, r}, nil
}

func (t *lazyTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if t.begun {
		return t.conn.QueryRow(ctx, sql, args...)
	}
	r, err := t.begin(ctx, sql, args)
	if err != nil {
		return failedRow{err}
	}
	return firstRow{r.QueryRow(), r}
}

func (t *lazyTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, src pgx.CopyFromSource) (int64, error) {
	if !t.begun {
		if _, err := t.Exec(ctx, "select"); err != nil {
			return 0, err
		}
	}
	return t.conn.CopyFrom(ctx, table, columns, src)
}

// end commits, or rolls back if err is not nil, and returns the connection to the pool, which closes a
// connection whose transaction could not be ended.
func (t *lazyTx) end(ctx context.Context, err error) error {
	defer t.conn.Release()
	if !t.begun {
		return err
	}
	if err != nil {
		t.conn.Exec(context.WithoutCancel(ctx), "rollback") //nolint:errcheck // the first error is the one to tell
		return err
	}
	tag, err := t.conn.Exec(ctx, "commit")
	if err == nil && tag.String() == "ROLLBACK" { // a statement had failed without an error being returned
		err = pgx.ErrTxCommitRollback
	}
	return err
}

// firstRows are rows that also close the batch of the first statement.
type firstRows struct {
	pgx.Rows
	batch pgx.BatchResults
}

func (r firstRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r firstRows) Close() {
	r.Rows.Close()
	r.batch.Close() //nolint:errcheck // the rows have the error
}

type firstRow struct {
	row   pgx.Row
	batch pgx.BatchResults
}

func (r firstRow) Scan(dest ...any) error {
	err := r.row.Scan(dest...)
	if end := r.batch.Close(); err == nil {
		err = end
	}
	return err
}

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }
