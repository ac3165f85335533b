package command

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// TestVersionWarning: who uses a program of another version learns what to do,
// once, in the server's words if it has any.
func TestVersionWarning(t *testing.T) {
	for message, want := range map[string]string{
		"":                           "/bin/coder-",
		"get it from the intranet\n": "; get it from the intranet",
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(codersdk.BuildVersionHeader, "v99.0.0")
			if r.URL.Path == "/api/v2/buildinfo" {
				fmt.Fprintf(w, `{"version": "v99.0.0", "upgrade_message": %q}`, message)
			}
		}))
		t.Cleanup(s.Close)
		var out bytes.Buffer
		c := &http.Client{Transport: &versionCheck{app: &Run{Stderr: &out}, base: http.DefaultTransport}}
		for range 2 {
			resp, err := c.Get(s.URL + "/x")
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		}
		if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "v99.0.0") || !strings.Contains(got, want) {
			t.Errorf("%q: %q", message, got)
		}
	}
}
