package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed-2a7f8fe7/coder"
)

// mapError is the one place that knows SQLSTATE. An error that is already of
// package coder, or of the context, passes unchanged.
func mapError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, ok := errors.AsType[*coder.Error](err); ok {
		return err
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return coder.NotFound()
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	switch pg.Code {
	case "23505": // unique_violation
		return &coder.Error{Code: coder.CodeConflict, Message: "It exists already", Detail: pg.ConstraintName, Err: err}
	case "23503": // foreign_key_violation
		return &coder.Error{Code: coder.CodeConflict, Message: "It refers to something that does not exist, or is still referred to", Detail: pg.ConstraintName, Err: err}
	case "23514", "22P02", "22001", "22021": // check_violation, bad text, too long, bad encoding
		return &coder.Error{Code: coder.CodeInvalid, Message: "The database refused a value", Detail: pg.ConstraintName, Err: err}
	case "57P01", "57P02", "57P03", "53300": // shutting down, starting up, too many connections
		return &coder.Error{Code: coder.CodeUnavailable, Message: "The database is not available right now", Err: err}
	}
	return err
}

// lostRace says that a transaction may be run again: serialization_failure or
// deadlock_detected.
func lostRace(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "40001" || pg.Code == "40P01")
}

// Constraint gives the name of the constraint that err says was violated, so
// that a use case can say which name is taken; "" for other errors.
func Constraint(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.ConstraintName
	}
	return ""
}
