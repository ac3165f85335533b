package web

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestRoutesFollowTheRouter compares the list of pages with the routes that the
// dashboard's source declares. All of them are declared with their whole path.
func TestRoutesFollowTheRouter(t *testing.T) {
	files, err := filepath.Glob("src/pages/*/routes.ts")
	if err != nil {
		t.Fatal(err)
	}
	features, err := filepath.Glob("src/*/routes.ts")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, features...)
	var declared []string
	literal := regexp.MustCompile(`createRoute\(\{([^}]|\$\{|\{\$\w+\})*?path: '([^']+)'`)
	for _, f := range append(files, "src/rootRoutes.ts", "src/router.tsx") {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		found := literal.FindAllStringSubmatch(string(b), -1)
		for _, m := range found {
			declared = append(declared, m[2])
		}
		layouts := strings.Count(string(b), "id: '") // routes without a path of their own
		if n := strings.Count(string(b), "createRoute({"); n != len(found)+layouts {
			t.Errorf("%s declares %d routes, of which %d have a path that this test reads", f, n, len(found))
		}
	}
	known := routes()
	for _, path := range declared {
		if !slices.Contains(known, path) {
			t.Errorf("the router has %s, and routes does not", path)
		}
	}
	for _, path := range known {
		if !slices.Contains(declared, path) {
			t.Errorf("routes has %s, and the router does not", path)
		}
	}
}

// TestUnknownPaths: the page is the answer for the dashboard's own routes only.
func TestUnknownPaths(t *testing.T) {
	h := &handler{Config: Config{Policy: func(string) string { return "" }}, page: "page", assets: map[string]*asset{}, files: fstest.MapFS{"favicon.svg": {Data: []byte("<svg/>")}}}
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/", 200}, {"HEAD", "/workspaces", 200}, {"GET", "/workspaces/", 200}, {"GET", "/@ann/dev", 200}, {"GET", "/@ann/dev/terminal", 200},
		{"GET", "/templates/coder/docker/versions/v1", 200}, {"GET", "/deployment/health", 200}, {"POST", "/workspaces", 405}, {"POST", "/favicon.svg", 405},
		{"GET", "/install.txt", 404}, {"GET", "/nothing/is/here", 404}, {"GET", "/@/dev", 404}, {"GET", "/ann/dev", 404}, {"POST", "/nothing", 404},
		{"GET", "/workspaces/a/b/c", 404}, {"GET", "/assets/", 404}, {"GET", "/index.html", 404}, {"GET", "/@ann/dev/terminal/more", 404},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, nil))
		kind := w.Header().Get("Content-Type")
		if w.Code != c.status || strings.HasPrefix(kind, "text/html") != (c.status == http.StatusOK) {
			t.Errorf("%s %s: %d %s", c.method, c.path, w.Code, kind)
		}
	}
}
