package postgres

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
)

// traced adds a span for each query below the span of its context, with the
// name of the query. Neither SQL nor arguments are part of it.
type traced struct {
	db sqlc.DBTX
	tx context.Context // of the transaction, whose span is above those of its queries
}

// start returns the context of the query and the function that ends its span;
// only the first call of that counts.
func (t traced) start(ctx context.Context, name string) (context.Context, func(error)) {
	ctx, span := tracing.StartKind(tracing.Below(ctx, t.tx), "query "+name, tracing.KindClient, tracing.String("db.system.name", "postgresql"),
		tracing.String("db.operation.name", name))
	if !span.IsRecording() {
		return ctx, func(error) {}
	}
	var once sync.Once
	return ctx, func(err error) { once.Do(func() { tracing.End(span, err) }) }
}

func (t traced) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	ctx, end := t.start(ctx, queryName(sql))
	tag, err := t.db.Exec(ctx, sql, args...)
	end(err)
	return tag, err
}

func (t traced) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	ctx, end := t.start(ctx, queryName(sql))
	rows, err := t.db.Query(ctx, sql, args...)
	if err != nil {
		end(err)
		return rows, err
	}
	return tracedRows{rows, end}, nil
}

func (t traced) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	ctx, end := t.start(ctx, queryName(sql))
	return tracedRow{t.db.QueryRow(ctx, sql, args...), end}
}

func (t traced) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, src pgx.CopyFromSource) (int64, error) {
	ctx, end := t.start(ctx, "CopyFrom "+table.Sanitize())
	n, err := t.db.CopyFrom(ctx, table, columns, src)
	end(err)
	return n, err
}

type tracedRow struct {
	row pgx.Row
	end func(error)
}

func (r tracedRow) Scan(dest ...any) error {
	err := r.row.Scan(dest...)
	r.end(err)
	return err
}

type tracedRows struct {
	pgx.Rows
	end func(error)
}

func (r tracedRows) Close() {
	r.Rows.Close()
	r.end(r.Rows.Err())
}
