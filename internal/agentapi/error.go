package agentapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
)

// fail answers with an error, and logs it when the fault is ours.
func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // nobody listens any more
	}
	body := coder.Response{Message: "The server could not do this; its log says why"}
	if e, ok := errors.AsType[*coder.Error](err); ok && e.Code != coder.CodeInternal {
		body = coder.Response{Message: e.Message, Detail: e.Detail, Validations: e.Fields}
	} else {
		a.c.Log.ErrorContext(r.Context(), "request of an agent failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	_ = reply(w, client.Status(coder.CodeOf(err)), body) // the agent went away
}

// reply answers with JSON.
func reply(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, err = w.Write(append(b, '\n'))
	if err != nil {
		return nil //nolint:nilerr // the status is out; nobody can be told
	}
	return nil
}

// bodyLimit bounds what a request brings.
const bodyLimit = 4 << 20

// decode reads a JSON body.
func decode[T any](w http.ResponseWriter, r *http.Request) (v T, err error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyLimit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return v, coder.Errorf(coder.CodeTooLarge, "The request is larger than %d MiB", bodyLimit>>20)
	}
	if err != nil {
		return v, coder.Errorf(coder.CodeInvalid, "The request could not be read").WithCause(err)
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return v, coder.Errorf(coder.CodeInvalid, "The request is not the JSON that is wanted here").WithDetail("%v", err)
	}
	return v, nil
}
