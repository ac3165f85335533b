package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/download"
	"github.com/seed-2a7f8fe7/coder/internal/initscript"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/web"
	"github.com/seed-2a7f8fe7/coder/web/icons"
)

// root answers what is outside of the API, and adds the headers of every answer.
func (s *Server) root(g groups, api http.Handler) (http.Handler, error) {
	policy := func(nonce string) string { return s.policy(nonce, g.network.Proxies.Origins()) }
	pictures, err := icons.Open()
	if err != nil {
		return nil, err
	}
	pages, err := web.Handler(web.Config{Policy: policy, Renderer: s.c.Pages.TerminalRenderer})
	if err != nil {
		return nil, err
	}
	docs, err := s.swagger()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /swagger", docs)
	mux.Handle("GET /swagger/", docs)
	mux.HandleFunc("GET /healthz", s.healthz)
	mux.HandleFunc("GET /readyz", s.readyz)
	mux.HandleFunc("GET /latency-check", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Timing-Allow-Origin", "*")
		fmt.Fprint(w, "OK")
	})
	if err := s.serveDownloads(mux); err != nil {
		return nil, err
	}
	mux.HandleFunc("GET /init-script/{os}/{arch}", s.initScript)
	mux.HandleFunc("GET /api/v2/init-script/{os}/{arch}", s.initScript)
	for _, path := range []string{icons.IconPath, icons.EmojiPath, icons.ListPath} {
		mux.Handle(path, pictures)
	}
	mux.HandleFunc("GET /external-auth/{id}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/external-auth/"+url.PathEscape(r.PathValue("id"))+"/callback", http.StatusFound)
	})
	// Providers return browsers to this path. It is below /external-auth because administrators register it there.
	mux.HandleFunc("GET /external-auth/{id}/callback", func(w http.ResponseWriter, r *http.Request) {
		r = r.Clone(r.Context())
		r.URL.Path, r.URL.RawPath = "/api/v2/external-auth/"+r.PathValue("id")+"/callback", ""
		api.ServeHTTP(w, r)
	})
	for _, prefix := range []string{"/api", "/oauth2", "/scim", "/v2", "/.well-known", "/derp"} { // programs ask here: 404 is JSON too
		mux.Handle(prefix, api)
		mux.Handle(prefix+"/", api)
	}
	mux.Handle("/", pages)
	return listen.Headers{
		Policy: policy(""), StrictSeconds: s.c.Network.StrictTransportSecurity, StrictOptions: s.c.Network.StrictTransportOptions,
		HTTPS: s.base.AccessURL.Scheme == "https",
	}.Wrap(listen.CleanPaths(s.dated(s.c.Network.Redirect(s.base.AccessURL, isProgram, mux)))), nil
}

// dated sets the Date of answers by the clock of the database, which agents follow.
func (s *Server) dated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", s.base.Now().UTC().Format(http.TimeFormat))
		next.ServeHTTP(w, r)
	})
}

// healthz answers OK to load balancers and Kubernetes, and 503 once the server is stopping. (CP-03)
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	select {
	case <-s.stopping:
		http.Error(w, "stopping", http.StatusServiceUnavailable)
		return
	default:
	}
	fmt.Fprint(w, "OK")
}

// readyLimit bounds the database request of readyz, and readyCached how long its result is used.
const readyLimit, readyCached = 2 * time.Second, time.Second

// readyz answers OK while the server is not stopping and the database responds, and 503 with the reason otherwise.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	select {
	case <-s.stopping:
		http.Error(w, "stopping", http.StatusServiceUnavailable)
		return
	default:
	}
	if !s.databaseResponds(r.Context()) {
		http.Error(w, "the database does not respond", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, "OK")
}

// databaseResponds pings the database, at most once per readyCached.
func (s *Server) databaseResponds(ctx context.Context) bool {
	s.ready.Lock()
	defer s.ready.Unlock()
	if time.Since(s.pinged) < readyCached {
		return s.responds
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyLimit)
	defer cancel()
	_, err := s.base.Store.Ping(ctx)
	s.pinged, s.responds = time.Now(), err == nil
	return s.responds
}

func (s *Server) initScript(w http.ResponseWriter, r *http.Request) {
	text, err := initscript.Render(r.PathValue("os"), r.PathValue("arch"), s.base.AccessURL.String(), "token")
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, text)
}

// serveDownloads adds the programs below /bin/ and the script that installs the
// command line.
func (s *Server) serveDownloads(mux *http.ServeMux) error {
	dir := s.c.Pages.BinDir
	if dir == "" {
		dir = filepath.Join(s.c.CacheDir, "bin")
	}
	programs, err := download.New(download.Config{Dir: dir, Cache: filepath.Join(s.c.CacheDir, "bin", "gzip"), Log: s.base.Log})
	if err != nil {
		return err
	}
	s.programs = programs
	mux.Handle("/bin/", programs)
	mux.Handle("GET /install.sh", download.ServeInstallScript(s.base.AccessURL.String(), s.c.Version))
	return nil
}

// isProgram reports whether programs request a path: they are not redirected to
// the access URL.
func isProgram(path string) bool {
	for _, prefix := range []string{"/.well-known/", "/oauth2/", "/v2/"} {
		if strings.HasPrefix(path, prefix) {
			return path != "/oauth2/authorize" // which browsers open
		}
	}
	return path == "/healthz" || path == "/readyz" || path == "/install.sh" || strings.HasPrefix(path, "/api/") || strings.HasPrefix(path, "/bin/")
}

// policy returns the Content-Security-Policy of a page whose style elements carry
// the nonce, and which may connect to the origins. Scripts come from files only.
func (s *Server) policy(nonce string, origins []string) string {
	styles := "style-src 'self'"
	if nonce != "" {
		styles += " 'nonce-" + nonce + "'"
	}
	return strings.Join(append([]string{
		"default-src 'self'", styles, strings.Join(append([]string{"connect-src 'self'"}, origins...), " "), "img-src 'self' https: data:",
		"object-src 'none'", "base-uri 'none'", "frame-ancestors 'self'", "form-action 'self'", "report-uri /api/v2/csp/reports",
	}, s.c.Network.AdditionalCSP...), "; ")
}
