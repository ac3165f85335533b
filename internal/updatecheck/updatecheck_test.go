package updatecheck

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	const running = "v2.37.1"
	same := codersdk.UpdateCheckResponse{Current: true, Version: running}
	for name, c := range map[string]struct {
		status int
		body   string
		want   codersdk.UpdateCheckResponse
		err    string
	}{
		"newer":        {200, `{"tag_name":"v2.37.2","html_url":"https://releases.example.com/2"}`, codersdk.UpdateCheckResponse{Version: "v2.37.2", URL: "https://releases.example.com/2"}, ""},
		"same":         {200, `{"tag_name":"v2.37.1","html_url":"https://r.example.com"}`, codersdk.UpdateCheckResponse{Current: true, Version: running, URL: "https://r.example.com"}, ""},
		"older":        {200, `{"tag_name":"v2.36.9","html_url":"https://r.example.com"}`, codersdk.UpdateCheckResponse{Current: true, Version: "v2.36.9", URL: "https://r.example.com"}, ""},
		"no version":   {200, `{"tag_name":"newest","html_url":"https://r.example.com"}`, same, "not a version"},
		"script":       {200, `{"tag_name":"v9.0.0","html_url":"javascript:alert(1)"}`, same, "html_url"},
		"HTML":         {200, `<html>`, same, "not JSON"},
		"unavailable":  {503, ``, same, "503"},
		"endless text": {200, `"` + strings.Repeat("a", 2*maxAnswer) + `"`, same, "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.UserAgent() != "coder" || r.URL.RawQuery != "" || len(r.Cookies()) != 0 {
					t.Errorf("the request has %v", r.Header)
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer srv.Close()
			u, err := url.Parse(srv.URL)
			if err != nil {
				t.Fatal(err)
			}
			k := New(u, running, nil, slog.New(slog.DiscardHandler))
			err = k.check(t.Context())
			if got := k.Latest(); got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v, %v; want %+v, %q", got, err, c.want, c.err)
			}
		})
	}
}

// TestRun asks at once and ends with its context.
func TestRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"tag_name":"v2.40.0","html_url":"https://r.example.com"}`))
		cancel()
	}))
	defer srv.Close()
	u, err := url.Parse(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	New(u, "v2.37.1", nil, slog.New(slog.DiscardHandler)).Run(ctx)
}
