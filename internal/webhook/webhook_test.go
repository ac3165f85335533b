package webhook_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/webhook"
)

func TestSignature(t *testing.T) {
	var header http.Header
	var body []byte
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		header = r.Header
		body, _ = io.ReadAll(r.Body)
	}))
	defer receiver.Close()
	c := webhook.Client{URL: receiver.URL, Secret: "s3cret", UserAgent: "coder/test", Now: func() time.Time { return time.Unix(1700000000, 0) }}
	if _, err := c.Post(t.Context(), "m1", []byte(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte("s3cret"))
	mac.Write([]byte(`1700000000.{"a":1}`))
	if got, want := header.Get(webhook.SignatureHeader), "t=1700000000,v1="+hex.EncodeToString(mac.Sum(nil)); got != want {
		t.Errorf("signed %q, want %q", got, want)
	}
	if string(body) != `{"a":1}` || header.Get("Content-Type") != "application/json" || header.Get("X-Message-Id") != "m1" {
		t.Errorf("%s %v", body, header)
	}
	c.Secret = ""
	if _, err := c.Post(t.Context(), "m1", []byte(`{}`)); err != nil || header.Get(webhook.SignatureHeader) != "" {
		t.Errorf("signed without a secret: %v %v", header, err)
	}
}

func TestFailures(t *testing.T) {
	for status, retry := range map[int]bool{400: false, 401: false, 404: true, 410: false, 413: false, 429: true, 500: true, 502: true, 503: true, 302: false} {
		receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(status)
			io.WriteString(w, strings.Repeat("no ", 10000)) //nolint:errcheck // the client may not read it
		}))
		c := webhook.Client{URL: receiver.URL}
		if again, err := c.Post(t.Context(), "m1", []byte(`{}`)); err == nil || again != retry || len(err.Error()) > 400 {
			t.Errorf("%d: retry %v, %v", status, again, err)
		}
		receiver.Close()
	}
}

func TestUnreachable(t *testing.T) {
	hangs := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hangs }))
	defer silent.Close()
	defer close(hangs)
	cuts := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer cuts.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, url := range []string{silent.URL, cuts.URL, gone.URL} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		c := webhook.Client{URL: url}
		if retry, err := c.Post(ctx, "m1", []byte(`{}`)); err == nil || !retry {
			t.Errorf("%s: retry %v, %v", url, retry, err)
		}
		cancel()
	}
}
