package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/fstest"
)

// TestAssets requires that browsers cache a file whose name has a hash forever, and that they get it
// with its type and in the smallest encoding that they accept.
func TestAssets(t *testing.T) {
	var gz bytes.Buffer
	z := gzip.NewWriter(&gz)
	z.Write([]byte("plain")) //nolint:errcheck // memory takes everything
	z.Close()                //nolint:errcheck // memory takes everything
	h := &handler{Config: Config{Policy: func(string) string { return "" }}, page: "page", assets: map[string]*asset{}, files: fstest.MapFS{
		"assets/a-1.js":    {Data: []byte("plain")},
		"assets/a-1.js.br": {Data: []byte("tight")},
		"assets/a-1.js.gz": {Data: gz.Bytes()},
		"assets/f-1.woff2": {Data: []byte("font")},
		"favicon.svg":      {Data: []byte("<svg/>")},
	}}
	for _, c := range []struct {
		path, accepts string
		status        int
		encoding      string
		body          string
		cache         string
		kind          string
	}{
		{"/assets/a-1.js", "", 200, "", "plain", "public, max-age=31536000, immutable", "text/javascript; charset=utf-8"},
		{"/assets/a-1.js", "gzip, deflate, br", 200, "br", "tight", "public, max-age=31536000, immutable", "text/javascript; charset=utf-8"},
		{"/assets/a-1.js", "gzip, br;q=0", 200, "gzip", gz.String(), "public, max-age=31536000, immutable", "text/javascript; charset=utf-8"},
		{"/assets/a-1.js", "gzip;q=0.5", 200, "gzip", gz.String(), "public, max-age=31536000, immutable", "text/javascript; charset=utf-8"},
		{"/assets/a-1.js", "gzip;q=0.0", 200, "", "plain", "public, max-age=31536000, immutable", "text/javascript; charset=utf-8"},
		{"/assets/f-1.woff2", "gzip, br", 200, "", "font", "public, max-age=31536000, immutable", "font/woff2"},
		{"/favicon.svg", "gzip, br", 200, "", "<svg/>", "no-cache", "image/svg+xml"},
		{"/assets/gone-1.js", "", 404, "", "404 page not found\n", "", "text/plain; charset=utf-8"},
		{"/workspaces", "br", 200, "", "page", "no-store", "text/html; charset=utf-8"},
	} {
		r := httptest.NewRequest(http.MethodGet, c.path, nil)
		r.Header.Set("Accept-Encoding", c.accepts)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		body, _ := io.ReadAll(w.Body)
		if got := w.Header(); w.Code != c.status || string(body) != c.body || got.Get("Content-Encoding") != c.encoding || got.Get("Cache-Control") != c.cache || got.Get("Content-Type") != c.kind {
			t.Errorf("%s for %q: %d %q %v", c.path, c.accepts, w.Code, body, got)
		}
		tag := w.Header().Get("ETag")
		if tag == "" {
			continue
		}
		r.Header.Set("If-None-Match", tag)
		again := httptest.NewRecorder()
		if h.ServeHTTP(again, r); again.Code != http.StatusNotModified || again.Body.Len() != 0 {
			t.Errorf("%s again: %d", c.path, again.Code)
		}
	}
}

// TestNavigationToUnknownPaths: a browser that navigates to an unknown path gets the dashboard's
// page, whose status is 404; a program, or a page that asks for a file, gets none.
func TestNavigationToUnknownPaths(t *testing.T) {
	h := &handler{Config: Config{Policy: func(string) string { return "" }}, page: "page", assets: map[string]*asset{}, files: fstest.MapFS{}}
	for _, c := range []struct {
		method, path, dest string
		status             int
		body               string
	}{
		{"GET", "/workspaces", "document", 200, "page"},
		{"GET", "/no/such/page", "document", 404, "page"},
		{"GET", "/no/such/page", "empty", 404, "404 page not found\n"},
		{"GET", "/no/such/page", "", 404, "404 page not found\n"},
		{"GET", "/assets/gone-1.js", "script", 404, "404 page not found\n"},
		{"POST", "/no/such/page", "document", 404, "404 page not found\n"},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		if c.dest != "" {
			r.Header.Set("Sec-Fetch-Dest", c.dest)
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != c.status || w.Body.String() != c.body {
			t.Errorf("%s %s as %q: %d %q", c.method, c.path, c.dest, w.Code, w.Body)
		}
	}
}
