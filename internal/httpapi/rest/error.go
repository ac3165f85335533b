package rest

import (
	"net/http"
	"strconv"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// StatusError is an HTTP failure for which codersdk has no error code.
type StatusError struct {
	Status int // of the response
	Err    *codersdk.Error
}

// Error returns the text of the failure.
func (e *StatusError) Error() string { return e.Err.Error() }

// Unwrap returns the failure.
func (e *StatusError) Unwrap() error { return e.Err }

// SetRetryAfter sets the header Retry-After, in whole seconds (RFC 9110, section 10.2.3). It does nothing for 0.
func SetRetryAfter(w http.ResponseWriter, wait time.Duration) {
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	}
}
