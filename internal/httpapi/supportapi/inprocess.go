package supportapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"
)

// maxResponse bounds a response of the API in a bundle, in bytes.
const maxResponse = 32 << 20

var errTooLarge = errors.New("the response is larger than 32 MiB")

// inProcess is a transport that calls a handler directly. The handler sees the
// client of the request that the bundle is collected for.
type inProcess struct {
	handler http.Handler
	from    *http.Request
}

// RoundTrip serves one request and returns its whole response.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range t.from.Header {
		switch name {
		case "Connection", "Upgrade", "Cookie", "Authorization", "Content-Length", "Content-Type":
		default:
			if r.Header[name] == nil && name[:min(4, len(name))] != "Sec-" {
				r.Header[name] = values
			}
		}
	}
	r.RemoteAddr, r.Host, r.RequestURI = t.from.RemoteAddr, t.from.Host, r.URL.RequestURI()
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := &response{header: http.Header{}}
	t.handler.ServeHTTP(w, r)
	if w.failed != nil {
		return nil, w.failed
	}
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// response collects the response of a handler in memory.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
	failed error
}

// Header returns the header of the response.
func (w *response) Header() http.Header { return w.header }

// WriteHeader sets the status once.
func (w *response) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write appends to the body, up to maxResponse.
func (w *response) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body.Len()+len(b) > maxResponse {
		w.failed = errTooLarge
		return 0, errTooLarge
	}
	return w.body.Write(b)
}

// Flush does nothing: the response is read when it is complete.
func (w *response) Flush() {}
