package httpapi

import "net/http"

// corsMaxAge is the time for which a browser may cache a preflight response, in
// seconds.
const corsMaxAge = "600"

// cors lets pages of any origin call the API when AllowCORS is set. The
// response does not allow credentials, so browsers leave the session cookie out
// and a page needs a token. Otherwise a preflight is treated like any OPTIONS
// request, and the browser refuses the page.
func (a *API) cors(next http.Handler) http.Handler {
	if !a.AllowCORS {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" {
			h := w.Header()
			h.Set("Access-Control-Allow-Origin", "*")
			h.Set("Access-Control-Expose-Headers", "*")
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE")
				h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Accept, Coder-Session-Token, X-Requested-With")
				h.Set("Access-Control-Max-Age", corsMaxAge)
			}
		}
		next.ServeHTTP(w, r)
	})
}
