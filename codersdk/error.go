package codersdk

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Code is the kind of an Error. The outermost layers map it to an HTTP status or
// an exit status.
type Code string

// Values of Code.
const (
	CodeInvalid         Code = "invalid"         // the request is malformed; the caller must change it
	CodeUnauthenticated Code = "unauthenticated" // no valid credentials
	CodeForbidden       Code = "forbidden"       // the caller is known but not allowed, and may know that the object exists
	CodeNotFound        Code = "not_found"       // the object is absent, or hidden from the caller
	CodeConflict        Code = "conflict"        // the request contradicts the current state
	CodePrecondition    Code = "precondition"    // a condition that the caller stated does not hold
	CodeTooLarge        Code = "too_large"
	CodeRateLimited     Code = "rate_limited"
	CodeUnavailable     Code = "unavailable" // try again later
	CodeInternal        Code = "internal"
)

// Error is a failure with a message for users. Message and Detail are safe to show
// to the caller. Err is the cause; it is logged and never shown.
type Error struct {
	Code    Code
	Message string
	Detail  string
	Fields  []ValidationError
	Err     error
	// RetryAfter is how long the caller should wait before it tries again; 0 if
	// unknown. HTTP responses carry it in the Retry-After header.
	RetryAfter time.Duration
}

// ValidationError describes what is wrong with one field of a request.
type ValidationError struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// Response is the body of every failure, and of responses that carry only a message.
type Response struct {
	Message     string            `json:"message"`
	Detail      string            `json:"detail,omitempty"`
	Validations []ValidationError `json:"validations,omitempty"`
}

// Error returns the message, the fields, and the cause if there is one.
func (e *Error) Error() string {
	s := e.Message
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	for _, f := range e.Fields {
		s += fmt.Sprintf(" (%s: %s)", f.Field, f.Detail)
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// WithDetail returns a copy of e with another detail.
func (e *Error) WithDetail(format string, args ...any) *Error {
	c := *e
	c.Detail = fmt.Sprintf(format, args...)
	return &c
}

// WithCause returns a copy of e with a cause, which is logged and never shown.
func (e *Error) WithCause(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

// WithRetryAfter returns a copy of e that asks the caller to wait.
func (e *Error) WithRetryAfter(wait time.Duration) *Error {
	c := *e
	c.RetryAfter = wait
	return &c
}

// Errorf returns an Error whose message is safe to show to the caller.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid returns a CodeInvalid error about one field.
func Invalid(field, format string, args ...any) *Error {
	d := fmt.Sprintf(format, args...)
	return &Error{
		Code:    CodeInvalid,
		Message: fmt.Sprintf("Invalid %s: %s", field, d),
		Fields:  []ValidationError{{Field: field, Detail: d}},
	}
}

// NotFound returns the error for an object that is absent or hidden. Both cases
// look the same, so that callers cannot probe for hidden objects.
func NotFound() *Error {
	return Errorf(CodeNotFound, "Resource not found, or you do not have access to it")
}

// CodeOf returns the code of the first Error in err's chain, CodeInternal for any
// other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// Is reports whether err has one of the codes.
func Is(err error, codes ...Code) bool { return slices.Contains(codes, CodeOf(err)) }
