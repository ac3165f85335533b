package rest

import (
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

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

// WantsPage reports whether the client is a browser that shows the response.
func WantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// ShowError redirects a browser to a page of the dashboard, which shows the message of err from the query
// parameter "message". The cause is in the log. ShowError returns err, for its own response, if the client is not a
// browser or err is internal.
func ShowError(w http.ResponseWriter, r *http.Request, log *slog.Logger, page string, err error) error {
	if !WantsPage(r) || codersdk.CodeOf(err) == codersdk.CodeInternal {
		return err
	}
	log.InfoContext(r.Context(), "request of a browser refused", "path", r.URL.Path, "error", err)
	return Redirect(w, page+"?"+url.Values{"message": {UserMessage(err)}}.Encode())
}

// UserMessage returns the part of an error that a page shows.
func UserMessage(err error) string {
	if e, ok := errors.AsType[*codersdk.Error](err); ok {
		return Truncate(e.Message, 500)
	}
	return "The request failed; try again"
}
