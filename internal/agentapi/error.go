package agentapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// fail replies with an error, and logs internal errors.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client is gone
	}
	body := codersdk.Response{Message: "Internal server error; the server's log has the cause"}
	if e, ok := errors.AsType[*codersdk.Error](err); ok && e.Code != codersdk.CodeInternal {
		body = codersdk.Response{Message: e.Message, Detail: e.Detail, Validations: e.Fields}
	} else {
		a.c.Log.ErrorContext(r.Context(), "request of an agent failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	_ = reply(w, codersdk.Status(codersdk.CodeOf(err)), body) // the agent went away
}

// reply writes a JSON response.
func reply(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, err = w.Write(append(b, '\n'))
	if err != nil {
		return nil //nolint:nilerr // the status is sent, so the error cannot be reported
	}
	return nil
}

// bodyLimit bounds the body of a request, in bytes.
const bodyLimit = 4 << 20

// decode reads a JSON body.
func decode[T any](w http.ResponseWriter, r *http.Request) (v T, err error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return v, codersdk.Errorf(codersdk.CodeTooLarge, "The request is larger than %d MiB", bodyLimit>>20)
	}
	if err != nil {
		return v, codersdk.Errorf(codersdk.CodeInvalid, "The request body could not be read; send it again").WithCause(err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return v, codersdk.Errorf(codersdk.CodeInvalid, "The request body is not valid JSON for this route").WithDetail("%v", err)
	}
	return v, nil
}
