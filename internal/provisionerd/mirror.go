package provisionerd

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Mirror passes GET requests to the provider mirror of the server with the daemon's credentials: / is the
// status of the mirror. It answers 502 if the server does not.
func (w WebSocket) Mirror() http.Handler {
	c := w.authenticated()
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		path := "/mirror"
		if r.URL.Path != "/" {
			path += r.URL.Path
		}
		resp, err := c.Request(r.Context(), http.MethodGet, path, nil, nil)
		if err != nil {
			refuse(rw, err)
			return
		}
		defer resp.Body.Close()
		for _, name := range []string{"Content-Type", "Content-Length", "X-Terraform-Get"} {
			if v := resp.Header.Get(name); v != "" {
				rw.Header().Set(name, v)
			}
		}
		rw.WriteHeader(resp.StatusCode)
		if _, err := io.Copy(rw, resp.Body); err != nil && r.Context().Value(http.ServerContextKey) != nil {
			panic(http.ErrAbortHandler) // a part must not look like the whole archive
		}
	})
}

// refuse replies with an error body of the REST API.
func refuse(w http.ResponseWriter, err error) {
	status, message := http.StatusBadGateway, "The server does not answer"
	if code := codersdk.CodeOf(err); code != codersdk.CodeInternal && code != codersdk.CodeUnavailable {
		status, message = codersdk.Status(code), err.Error()
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(codersdk.Response{Message: message}) //nolint:errcheck // the client went away
}
