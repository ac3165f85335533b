package server

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func fetch(t *testing.T, b http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	b.ServeHTTP(w, r)
	return w
}

func TestBinariesForAgents(t *testing.T) {
	beside, dir := t.TempDir(), t.TempDir()
	own := "coder-" + runtime.GOOS + "-" + runtime.GOARCH
	for path, text := range map[string]string{
		filepath.Join(beside, "coder"):                   "whole",
		filepath.Join(beside, "coder-agent-linux-armv7"): "agent beside",
		filepath.Join(dir, "coder-agent-linux-arm64"):    "agent",
		filepath.Join(dir, "coder-linux-arm64"):          "whole arm64",
		filepath.Join(dir, "coder-darwin-arm64"):         "whole darwin",
	} {
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b := &binaries{dir: dir, own: filepath.Join(beside, "coder"), sums: map[string]sum{}}
	for path, want := range map[string]string{
		"/bin/coder-linux-arm64":            "whole arm64",
		"/bin/coder-linux-arm64?for=agent":  "agent",
		"/bin/coder-linux-armv7?for=agent":  "agent beside",
		"/bin/coder-darwin-arm64?for=agent": "whole darwin",
		"/bin/" + own + "?for=agent":        "whole",
		"/bin/" + own:                       "whole",
		"/bin/coder-linux-armv7":            "404",
		"/bin/coder-agent-linux-arm64":      "404",
	} {
		w := fetch(t, b, path)
		if got := w.Body.String(); got != want && !(want == "404" && w.Code == 404) {
			t.Errorf("%s: %d %q, want %q", path, w.Code, got, want)
		}
	}
}

func TestBinariesAreCompressedForWhoAsks(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "coder-linux-arm64")
	text := bytes.Repeat([]byte("machine code "), 10000)
	write := func() {
		t.Helper()
		if err := os.WriteFile(file, text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write()
	b := &binaries{dir: dir, own: "/nowhere/coder", sums: map[string]sum{}}
	for accept, packed := range map[string]bool{
		"gzip": true, "deflate, gzip;q=0.5, br": true, "GZIP": true, "": false, "gzip;q=0": false, "gzip; q=0.000": false, "br": false, "xgzip": false,
	} {
		w := fetch(t, b, "/bin/coder-linux-arm64", "Accept-Encoding", accept)
		body := io.Reader(w.Body)
		if got := w.Header().Get("Content-Encoding") == "gzip"; got != packed {
			t.Errorf("%q: compressed is %t", accept, got)
		}
		if packed {
			if w.Body.Len() > len(text)/10 {
				t.Errorf("%q: %d bytes", accept, w.Body.Len())
			}
			var err error
			if body, err = gzip.NewReader(body); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := io.ReadAll(body); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%q: %v, %d bytes", accept, err, len(got))
		}
		if again := fetch(t, b, "/bin/coder-linux-arm64", "Accept-Encoding", accept, "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified {
			t.Errorf("%q: sent again: %d", accept, again.Code)
		}
	}
	if w := fetch(t, b, "/bin/coder-linux-arm64", "Accept-Encoding", "gzip", "Range", "bytes=0-6"); w.Code != http.StatusPartialContent || w.Body.String() != "machine" {
		t.Errorf("a range: %d %q", w.Code, w.Body.String())
	}

	// A newer content takes the place of the former; others' stay.
	other := filepath.Join(dir, "gzip", "coder-linux-arm64x-"+strings.Repeat("0", 64)+".gz")
	if err := os.WriteFile(other, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	text = append(text, "new"...)
	write()
	fetch(t, b, "/bin/coder-linux-arm64", "Accept-Encoding", "gzip")
	if files, err := os.ReadDir(filepath.Join(dir, "gzip")); err != nil || len(files) != 2 {
		t.Errorf("%v: %v are kept", err, files)
	}

	// Where nothing can be kept the answer is plain.
	b.dir = file // a file, in which no directory can be
	b.own = filepath.Join(dir, "coder")
	if w := fetch(t, b, "/bin/coder-linux-arm64", "Accept-Encoding", "gzip"); w.Header().Get("Content-Encoding") != "" || !bytes.Equal(w.Body.Bytes(), text) {
		t.Errorf("%d, %d bytes", w.Code, w.Body.Len())
	}
}
