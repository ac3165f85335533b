package rest

import (
	"errors"
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Redirect sends the browser to location. The response must not be cached.
func Redirect(w http.ResponseWriter, location string) error {
	w.Header().Set("Location", location)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusTemporaryRedirect)
	return nil
}

// UserMessage returns the part of an error that a page shows.
func UserMessage(err error) string {
	if e, ok := errors.AsType[*codersdk.Error](err); ok {
		return Truncate(e.Message, 500)
	}
	return "The request failed; try again"
}
