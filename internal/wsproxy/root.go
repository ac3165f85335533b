package wsproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/app"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/viewer"
)

// handler answers everything.
func (p *Proxy) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, "OK")
	})
	mux.HandleFunc("GET /healthz-report", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, p.report()) })
	mux.HandleFunc("GET /latency-check", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Timing-Allow-Origin", "*")
		fmt.Fprint(w, "OK")
	})
	mux.HandleFunc("GET /api/v2/buildinfo", p.buildInfo)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, p.c.Primary.String(), http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		fail(w, coder.Errorf(coder.CodeNotFound, "This is a workspace proxy, which has no such page").WithDetail("the dashboard and the API are at %s", p.c.Primary))
	})
	if p.c.RelayOnly {
		return p.headers(mux)
	}
	mux.HandleFunc("GET /api/v2/workspaceagents/{workspaceagent}/pty", func(w http.ResponseWriter, r *http.Request) {
		if err := p.terminal(w, r); err != nil {
			fail(w, err)
		}
	})
	return p.withApps(p.headers(mux))
}

// headers are sent with every answer that is not an app's.
func (p *Proxy) headers(next http.Handler) http.Handler {
	return listen.Headers{
		Policy:        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		StrictSeconds: p.c.StrictTransportSecurity, StrictOptions: p.c.StrictTransportOptions, HTTPS: p.accessURL.Scheme == "https",
	}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(client.BuildVersionHeader, p.c.Version)
		next.ServeHTTP(w, r)
	}))
}

func (p *Proxy) buildInfo(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, coder.BuildInfoResponse{
		Version: p.c.Version, DashboardURL: p.c.Primary.String(), WorkspaceProxy: true,
	})
}

func answer(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the client went away
}

func fail(w http.ResponseWriter, err error) {
	e, ok := errors.AsType[*coder.Error](err)
	if !ok {
		e = coder.Errorf(coder.CodeInternal, "The workspace proxy failed to do this; its log says why")
	}
	answer(w, client.Status(e.Code), coder.Response{Message: e.Message, Detail: e.Detail, Validations: e.Fields})
}

// reason is what of an error is for people.
func reason(err error) string {
	if e, ok := errors.AsType[*coder.Error](err); ok {
		return strings.TrimSuffix(e.Message+": "+e.Detail, ": ")
	}
	return "its network does not let it"
}

// terminal connects a WebSocket to a terminal of an agent, for a viewer whom the
// dashboard gave a token for it. Nothing else counts, neither cookies nor
// sessions, so pages of apps can do nothing here.
func (p *Proxy) terminal(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	id, err := uuid.Parse(r.PathValue("workspaceagent"))
	if err != nil {
		return coder.Invalid("workspaceagent", "%.40q is not a UUID", r.PathValue("workspaceagent"))
	}
	key, ok := p.apps.Terminal(q.Get(app.TerminalParam), id)
	if !ok {
		return coder.Errorf(coder.CodeUnauthenticated, "The token of this terminal is not good, or not any more; get another")
	}
	arg, err := viewer.Argument(q)
	if err != nil {
		return err
	}
	about := url.Values{"key_id": {key}, "agent_id": {id.String()}}
	if ip := p.clients.IP(r); ip.IsValid() {
		about.Set("client_ip", ip.String())
	}
	first, err := p.hold(r.Context(), about)
	if err != nil {
		return p.away(err)
	}
	held, end := context.WithCancelCause(r.Context())
	defer end(context.Canceled)
	go p.stay(held, end, about, first)
	stream, err := p.open(held, id, tunnel.KindPTY, arg)
	if err != nil {
		return coder.Errorf(coder.CodeUnavailable, "The agent opens no terminal").WithDetail("%s", reason(err)).WithCause(err)
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled, OriginPatterns: []string{p.c.Primary.Host}})
	if err != nil {
		stream.Close()
		return nil //nolint:nilerr // Accept has answered already
	}
	viewer.Join(held, conn, stream, q)
	return nil
}
