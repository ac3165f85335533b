package listen

import (
	"fmt"
	"net/http"
	"strings"
)

// Headers are what every answer of a process says to browsers. (CP-19)
type Headers struct {
	Policy string // Content-Security-Policy
	// StrictSeconds is for how long browsers are to come by HTTPS only, once they
	// did; 0 says nothing. StrictOptions go with it.
	StrictSeconds int
	StrictOptions []string
	// HTTPS says that browsers come by it even where the process itself does not
	// speak it.
	HTTPS bool
}

// Wrap sends them with the answers of next.
func (c Headers) Wrap(next http.Handler) http.Handler {
	sts := ""
	if c.StrictSeconds > 0 {
		sts = strings.Join(append([]string{fmt.Sprintf("max-age=%d", c.StrictSeconds)}, c.StrictOptions...), "; ")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Content-Security-Policy", c.Policy)
		if sts != "" && (r.TLS != nil || c.HTTPS) {
			h.Set("Strict-Transport-Security", sts)
		}
		next.ServeHTTP(w, r)
	})
}
