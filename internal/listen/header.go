package listen

import (
	"fmt"
	"net/http"
	"strings"
)

// Headers are the security headers of every response of a process. (CP-19)
type Headers struct {
	Policy string // Content-Security-Policy
	// StrictSeconds is the max-age of Strict-Transport-Security; 0 omits the
	// header. StrictOptions are added to it.
	StrictSeconds int
	StrictOptions []string
	// HTTPS reports that browsers use HTTPS even if the process itself does not
	// serve it.
	HTTPS bool
}

// Wrap adds the headers to the responses of next.
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
