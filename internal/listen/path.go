package listen

import (
	"net/http"
	"net/url"
	"strings"
)

// CleanPaths serves a path with doubled slashes as the path without them, and a
// path below /api, /oauth2, /scim and /.well-known with a trailing slash as the
// one without it. It does not redirect, because a redirect loses the body of a
// POST.
func CleanPaths(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		escaped := r.URL.EscapedPath()
		clean := cleanPath(escaped)
		plain, err := url.PathUnescape(clean)
		if clean == escaped || err != nil {
			next.ServeHTTP(w, r)
			return
		}
		u := *r.URL
		u.Path, u.RawPath = plain, clean
		again := *r
		again.URL = &u
		next.ServeHTTP(w, &again)
	})
}

func cleanPath(p string) string {
	for strings.Contains(p, "//") {
		p = strings.ReplaceAll(p, "//", "/")
	}
	if p == "/api/v2" {
		return "/api/v2/" // the root of the API
	}
	for _, prefix := range []string{"/api/", "/oauth2/", "/scim/", "/.well-known/"} {
		if p != "/api/v2/" && len(p) > len(prefix) && strings.HasPrefix(p, prefix) {
			return strings.TrimSuffix(p, "/")
		}
	}
	return p
}
