package agent

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

func TestProbe(t *testing.T) {
	stuck := make(chan struct{})
	pages := map[string]http.HandlerFunc{
		"/good":  func(http.ResponseWriter, *http.Request) {},
		"/login": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"/away": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		},
		"/broken": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"/stuck":  func(http.ResponseWriter, *http.Request) { <-stuck },
		"/endless": func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 32<<10)); err != nil {
					return
				}
			}
		},
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { pages[r.URL.Path](w, r) })
	plain, secure := httptest.NewServer(h), httptest.NewTLSServer(h)
	defer func() { close(stuck); plain.Close(); secure.Close() }()
	for path, good := range map[string]bool{"/good": true, "/login": true, "/away": true, "/endless": true, "/broken": false} {
		for _, base := range []string{plain.URL, secure.URL} {
			if err := probe(t.Context(), base+path, testwait.Limit); (err == nil) != good {
				t.Errorf("%s%s: %v", base, path, err)
			}
		}
	}
	if err := probe(t.Context(), plain.URL+"/stuck", 50*time.Millisecond); err == nil {
		t.Error("an app that never answers does well")
	}
	for _, url := range []string{"", "gopher://localhost", "http://127.0.0.1:1/", ":"} {
		if err := probe(t.Context(), url, time.Second); err == nil {
			t.Errorf("%q does well", url)
		}
	}
}
