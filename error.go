package coder

import (
	"errors"
	"fmt"
	"slices"
)

// Code says what kind of failure an Error is. The edges alone turn it into an
// HTTP status or an exit status.
type Code string

// The codes.
const (
	CodeInvalid         Code = "invalid"         // the request makes no sense; the caller must change it
	CodeUnauthenticated Code = "unauthenticated" // nobody, or nobody any more
	CodeForbidden       Code = "forbidden"       // known, but not allowed, and allowed to know that
	CodeNotFound        Code = "not_found"       // absent, or hidden from the caller
	CodeConflict        Code = "conflict"        // at odds with what is there now
	CodePrecondition    Code = "precondition"    // a state that the caller expected is not given
	CodeTooLarge        Code = "too_large"
	CodeRateLimited     Code = "rate_limited"
	CodeUnavailable     Code = "unavailable" // try again later
	CodeInternal        Code = "internal"
)

// Error is a failure with a message for people. Message and Detail are safe to
// show to the caller; Err is the cause and goes to the log only.
type Error struct {
	Code    Code
	Message string
	Detail  string
	Fields  []ValidationError
	Err     error
}

// ValidationError says what is wrong with one field of a request.
type ValidationError struct {
	Field  string `json:"field"`
	Detail string `json:"detail"`
}

// Response is the body of every failure, and of answers that only say something.
type Response struct {
	Message     string            `json:"message"`
	Detail      string            `json:"detail,omitempty"`
	Validations []ValidationError `json:"validations,omitempty"`
}

// Error gives the message, and the cause when there is one.
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

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// WithDetail gives a copy of e with another detail.
func (e *Error) WithDetail(format string, args ...any) *Error {
	c := *e
	c.Detail = fmt.Sprintf(format, args...)
	return &c
}

// WithCause gives a copy of e with a cause, which is logged and never shown.
func (e *Error) WithCause(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

// Errorf makes an Error whose message is safe to show to the caller.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid makes a CodeInvalid error about one field.
func Invalid(field, format string, args ...any) *Error {
	d := fmt.Sprintf(format, args...)
	return &Error{
		Code:    CodeInvalid,
		Message: fmt.Sprintf("Invalid %s: %s", field, d),
		Fields:  []ValidationError{{Field: field, Detail: d}},
	}
}

// NotFound makes the error for a thing that is absent or hidden; both look alike.
func NotFound() *Error {
	return Errorf(CodeNotFound, "There is no such thing, or you may not see it")
}

// CodeOf gives the code of err: that of the first Error in its chain,
// CodeInternal for any other error, and "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// Is says whether err has one of the codes.
func Is(err error, codes ...Code) bool { return slices.Contains(codes, CodeOf(err)) }
