package client

import (
	"net/http"
	"strings"
)

// SessionCookie is the name of the cookie, and of the query parameter, that
// may carry the token instead of the header. (AU-02)
const SessionCookie = "coder_session_token"

// TokenOf finds the token that a request carries, in the order in which the
// API looks for it, and whether only the cookie carried it; "" for none.
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
