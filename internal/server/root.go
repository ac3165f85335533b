package server

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/initscript"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/web"
)

// root is everything that is answered outside of /api/v2, and the headers
// around it all.
func (s *Server) root(api http.Handler) (http.Handler, error) {
	bins, err := newBinaries(s.binDir())
	if err != nil {
		return nil, err
	}
	pages, err := web.Handler(web.Config{Policy: s.policy})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /latency-check", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Timing-Allow-Origin", "*")
		fmt.Fprint(w, "OK")
	})
	mux.Handle("GET /bin/", bins)
	mux.HandleFunc("GET /init-script/{os}/{arch}", s.initScript)
	mux.HandleFunc("GET /api/v2/init-script/{os}/{arch}", s.initScript)
	mux.Handle("/api/v2/", api)
	mux.Handle("/", pages)
	return s.headers(s.redirect(mux)), nil
}

// healthz says OK while the server can do its work, which needs the database.
// It is what load balancers and Kubernetes ask. (CP-03)
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, "OK")
}

func (s *Server) initScript(w http.ResponseWriter, r *http.Request) {
	text, err := initscript.Render(r.PathValue("os"), r.PathValue("arch"), s.accessURL.String(), "token")
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, text)
}

// policy is the Content-Security-Policy of a page whose style elements carry
// the nonce. Scripts come from files only.
func (s *Server) policy(nonce string) string {
	styles := "style-src 'self'"
	if nonce != "" {
		styles += " 'nonce-" + nonce + "'"
	}
	return strings.Join(append([]string{
		"default-src 'self'", styles, strings.Join(append([]string{"connect-src 'self'"}, s.proxyOrigins()...), " "), "img-src 'self' https: data:", "object-src 'none'",
		"base-uri 'none'", "frame-ancestors 'self'", "form-action 'self'", "report-uri /api/v2/csp/reports",
	}, s.c.AdditionalCSP...), "; ")
}

// headers are sent with every answer. (CP-19)
func (s *Server) headers(next http.Handler) http.Handler {
	return listen.Headers{
		Policy: s.policy(""), StrictSeconds: s.c.StrictTransportSecurity, StrictOptions: s.c.StrictTransportOptions, HTTPS: s.accessURL.Scheme == "https",
	}.Wrap(next)
}

// redirect sends browsers that came by another name to the access URL, when
// asked to. Health checks and the API come by whatever name they know.
func (s *Server) redirect(next http.Handler) http.Handler {
	if !s.c.RedirectToAccessURL {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == s.accessURL.Host || r.Method != http.MethodGet || r.URL.Path == "/healthz" ||
			strings.HasPrefix(r.URL.Path, "/api/") || strings.HasPrefix(r.URL.Path, "/bin/") {
			next.ServeHTTP(w, r)
			return
		}
		to := url.URL{Scheme: s.accessURL.Scheme, Host: s.accessURL.Host, Path: r.URL.Path, RawQuery: r.URL.RawQuery}
		http.Redirect(w, r, to.String(), http.StatusTemporaryRedirect)
	})
}
