package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// mapError maps SQLSTATE to error codes; nothing else does. Errors that already have a code, and errors of
// the context, pass unchanged.
func mapError(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, ok := errors.AsType[*codersdk.Error](err); ok {
		return err
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return codersdk.NotFound()
	}
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	switch pg.Code {
	case "23505": // unique_violation
		return &codersdk.Error{Code: codersdk.CodeConflict, Message: "The object already exists", Detail: pg.ConstraintName, Err: err}
	case "23503": // foreign_key_violation
		return &codersdk.Error{
			Code:    codersdk.CodeConflict,
			Message: "The object refers to a missing object, or other objects still refer to it",
			Detail:  pg.ConstraintName,
			Err:     err,
		}
	case "23514", "22P02", "22001", "22021": // check_violation, bad text, too long, bad encoding
		return &codersdk.Error{Code: codersdk.CodeInvalid, Message: "The database rejected a value", Detail: pg.ConstraintName, Err: err}
	case "57P01", "57P02", "57P03", "53300": // shutting down, starting up, too many connections
		return &codersdk.Error{Code: codersdk.CodeUnavailable, Message: "The database is not available; try again", Err: err}
	}
	return err
}

// lostRace reports whether a transaction can be retried: serialization_failure or deadlock_detected.
func lostRace(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "40001" || pg.Code == "40P01")
}

// Constraint returns the name of the constraint that was violated, so that a use case can name the field;
// "" for other errors.
func Constraint(err error) string {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pg.ConstraintName
	}
	return ""
}
