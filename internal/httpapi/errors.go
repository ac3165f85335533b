package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
)

// statusError is a failure of HTTP itself that no code of the vocabulary names.
type statusError struct {
	status int
	err    *coder.Error
}

func (e *statusError) Error() string { return e.err.Error() }
func (e *statusError) Unwrap() error { return e.err }

// fail is the one place that answers an error. What is not a *coder.Error is
// ours: it is logged, and the caller learns only the request's id. Nothing is
// written when an answer has begun.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return // nobody is there to read an answer
	}
	id := w.Header().Get(requestIDHeader)
	if rec, ok := w.(*recorder); ok && rec.status != 0 {
		a.Log.DebugContext(r.Context(), "answer broke off", "path", r.URL.Path, "request_id", id, "error", err)
		return
	}
	status, body := http.StatusInternalServerError, coder.Response{
		Message: "The server failed to do this; its log says why", Detail: "request " + id,
	}
	if e, ok := errors.AsType[*coder.Error](err); ok && e.Code != coder.CodeInternal {
		status, body = client.Status(e.Code), coder.Response{Message: e.Message, Detail: e.Detail, Validations: e.Fields}
	}
	if s, ok := errors.AsType[*statusError](err); ok {
		status = s.status
	}
	if status >= 500 {
		a.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "request_id", id, "status", status, "error", err)
	}
	if reply(w, status, body) != nil {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// missing says why no route answers: the path is unknown, or known for other
// methods only.
func missing(mux *http.ServeMux, r *http.Request) error {
	var allowed []string
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		probe := r.Clone(r.Context())
		probe.Method = m
		if _, pattern := mux.Handler(probe); pattern != "/" && pattern != "" {
			allowed = append(allowed, m)
		}
	}
	if len(allowed) == 0 || slices.Contains(allowed, r.Method) {
		return coder.Errorf(coder.CodeNotFound, "There is nothing at %s", clip(r.URL.Path, 200))
	}
	return &statusError{http.StatusMethodNotAllowed, coder.Errorf(coder.CodeInvalid,
		"%s is not possible here; possible are: %s", clip(r.Method, 20), strings.Join(allowed, ", "))}
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
