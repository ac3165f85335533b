package scim

import (
	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Error is a failure with a detail error keyword of SCIM (RFC 7644 section 3.12).
type Error struct {
	Type string // such as invalidFilter; "" for none
	Err  *codersdk.Error
}

// Error returns the text of the failure.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the failure.
func (e *Error) Unwrap() error { return e.Err }

// The keywords in use.
const (
	invalidFilter = "invalidFilter"
	invalidPath   = "invalidPath"
	invalidSyntax = "invalidSyntax"
	invalidValue  = "invalidValue"
	mutability    = "mutability"
	noTarget      = "noTarget"
	tooMany       = "tooMany"
	uniqueness    = "uniqueness"
)

// invalid returns the error of a request that is not valid.
func invalid(keyword, format string, args ...any) *Error {
	return &Error{Type: keyword, Err: codersdk.Errorf(codersdk.CodeInvalid, format, args...)}
}

// conflict returns the error of a value that another resource has.
func conflict(format string, args ...any) *Error {
	return &Error{Type: uniqueness, Err: codersdk.Errorf(codersdk.CodeConflict, format, args...)}
}

// missing returns the error of a resource that does not exist.
func missing(kind, id string) *Error {
	return &Error{Err: codersdk.Errorf(codersdk.CodeNotFound, "%s %.64q not found", kind, id)}
}
