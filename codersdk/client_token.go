package codersdk

import (
	"net/http"
	"strings"
)

// SessionCookie is the name of the cookie, and of the query parameter, that can
// carry the token instead of the header. (AU-02)
const SessionCookie = "coder_session_token"

// TokenOf returns the token of a request, "" for none, and whether only the cookie
// carried it. It checks the places in the order of the API.
func TokenOf(r *http.Request) (token string, cookie bool) {
	if t := r.Header.Get(SessionTokenHeader); t != "" {
		return t, false
	}
	if t := r.URL.Query().Get(SessionCookie); t != "" {
		return t, false
	}
	if t, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return t, false
	}
	if c, err := r.Cookie(SessionCookie); err == nil && c.Value != "" {
		return c.Value, true
	}
	return "", false
}
