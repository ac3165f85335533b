package rest

import "github.com/seed-2a7f8fe7/coder/codersdk"

// StatusError is an HTTP failure for which codersdk has no error code.
type StatusError struct {
	Status int // of the response
	Err    *codersdk.Error
}

// Error returns the text of the failure.
func (e *StatusError) Error() string { return e.Err.Error() }

// Unwrap returns the failure.
func (e *StatusError) Unwrap() error { return e.Err }
