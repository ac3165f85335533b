package install

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestEndlessBody requests a file from a site that sends forever.
func TestEndlessBody(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 1000)); err != nil {
				return
			}
		}
	}))
	defer site.Close()
	client, done := boundedClient(5000)
	defer done()
	resp, err := client.Get(site.URL) //nolint:noctx // the limit ends it
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); !ok || len(b) != 5000 {
		t.Errorf("read %d bytes, %v", len(b), err)
	}
}
