package httpapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// fail replies with an error; no other function does. An error that is not a
// *codersdk.Error is logged, and the client receives only the request id. After
// the response has started, fail only logs.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return // the client is gone
	}
	id := w.Header().Get(requestIDHeader)
	if rec, ok := w.(*recorder); ok && rec.status != 0 {
		a.Log.DebugContext(r.Context(), "response interrupted", "path", r.URL.Path, "request_id", id, "error", err)
		return
	}
	status, body := http.StatusInternalServerError, codersdk.Response{
		Message: "Internal server error; the server's log has the cause under the request id", Detail: "request " + id,
	}
	if e, ok := errors.AsType[*codersdk.Error](err); ok && e.Code != codersdk.CodeInternal {
		status, body = codersdk.Status(e.Code), codersdk.Response{Message: e.Message, Detail: e.Detail, Validations: e.Fields}
		rest.SetRetryAfter(w, e.RetryAfter)
	}
	if s, ok := errors.AsType[*rest.StatusError](err); ok {
		status = s.Status
	}
	if status >= 500 {
		a.Log.ErrorContext(r.Context(), "request failed", "method", r.Method, "path", r.URL.Path, "request_id", id, "status", status, "error", err)
	}
	if rest.Reply(w, status, body) != nil {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// noRoute returns the error of a path that no route serves, or replies to
// OPTIONS with the methods of a known path.
func noRoute(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) error {
	var allowed []string
	for _, m := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		probe := r.Clone(r.Context())
		probe.Method = m
		if _, pattern := mux.Handler(probe); pattern != "/" && pattern != "" {
			allowed = append(allowed, m)
		}
	}
	if len(allowed) > 0 && r.Method == http.MethodOptions {
		w.Header().Set("Allow", strings.Join(append(allowed, http.MethodOptions), ", "))
		return rest.ReplyNoContent(w)
	}
	if len(allowed) == 0 || slices.Contains(allowed, r.Method) {
		return codersdk.Errorf(codersdk.CodeNotFound, "No API route matches %s; check the path", rest.Truncate(r.URL.Path, 200))
	}
	return &rest.StatusError{Status: http.StatusMethodNotAllowed, Err: codersdk.Errorf(codersdk.CodeInvalid,
		"Method %s is not allowed here; allowed methods: %s", rest.Truncate(r.Method, 20), strings.Join(allowed, ", "))}
}
