package listen

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestCleanPaths(t *testing.T) {
	h := CleanPaths(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Write([]byte(r.Method + " " + r.URL.EscapedPath() + " " + string(b))) //nolint:errcheck // a recorder takes everything
	}))
	for asked, want := range map[string]string{
		"//api/v2/users": "/api/v2/users", "/api//v2///users/": "/api/v2/users", "/api/v2/": "/api/v2/", "/api/v2": "/api/v2/", "//api/v2//": "/api/v2/",
		"/api/v2/organizations/o/members/": "/api/v2/organizations/o/members", "/": "/", "//": "/", "/bin/": "/bin/", "/workspaces/": "/workspaces/",
		"/api/v2/files/a%2Fb/": "/api/v2/files/a%2Fb", "/oauth2/": "/oauth2/", "/oauth2/tokens/": "/oauth2/tokens", "/.well-known/x/": "/.well-known/x",
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "http://x.test/", strings.NewReader("body"))
		u, err := r.URL.Parse("http://x.test" + asked)
		if err != nil {
			t.Fatal(err)
		}
		r.URL = u
		if h.ServeHTTP(w, r); w.Code != http.StatusOK || w.Body.String() != "POST "+want+" body" {
			t.Errorf("%s is served as %d %q, want %s", asked, w.Code, w.Body, want)
		}
	}
}
