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

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/listen"
	"github.com/seed-2a7f8fe7/coder/internal/ptybridge"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/workspaceapp"
)

// handler serves all requests to the proxy.
func (p *Proxy) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprint(w, "OK")
	})
	mux.HandleFunc("GET /healthz-report", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, p.report()) })
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
		replyError(w, codersdk.Errorf(codersdk.CodeNotFound, "This workspace proxy has no such page").
			WithDetail("open the dashboard and the API at %s", p.c.Primary))
	})
	mux.HandleFunc("GET /api/v2/relay", func(w http.ResponseWriter, r *http.Request) {
		if err := p.relay.Serve(w, r); err != nil {
			replyError(w, err)
		}
	})
	if p.c.RelayOnly {
		return p.headers(mux)
	}
	mux.HandleFunc("GET /api/v2/workspaceagents/{workspaceagent}/pty", func(w http.ResponseWriter, r *http.Request) {
		if err := p.terminal(w, r); err != nil {
			replyError(w, err)
		}
	})
	return p.withApps(p.headers(mux))
}

// headers adds the security headers to every response that is not an app's.
func (p *Proxy) headers(next http.Handler) http.Handler {
	return listen.Headers{
		Policy:        "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		StrictSeconds: p.c.StrictTransportSecurity, StrictOptions: p.c.StrictTransportOptions, HTTPS: p.accessURL.Scheme == "https",
	}.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(codersdk.BuildVersionHeader, p.c.Version)
		next.ServeHTTP(w, r)
	}))
}

func (p *Proxy) buildInfo(w http.ResponseWriter, _ *http.Request) {
	reply(w, http.StatusOK, codersdk.BuildInfoResponse{
		ExternalURL: codersdk.ExternalURL, Version: p.c.Version, DashboardURL: p.c.Primary.String(), WorkspaceProxy: true,
	})
}

func reply(w http.ResponseWriter, status int, v any) {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the client went away
}

func replyError(w http.ResponseWriter, err error) {
	e, ok := errors.AsType[*codersdk.Error](err)
	if !ok {
		e = codersdk.Errorf(codersdk.CodeInternal, "Internal error of the workspace proxy; its log has the cause")
	}
	reply(w, codersdk.Status(e.Code), codersdk.Response{Message: e.Message, Detail: e.Detail, Validations: e.Fields})
}

// reason returns the part of an error that users may see.
func reason(err error) string {
	if e, ok := errors.AsType[*codersdk.Error](err); ok {
		return strings.TrimSuffix(e.Message+": "+e.Detail, ": ")
	}
	return "its network does not allow it"
}

// terminal connects a WebSocket to a terminal of an agent, for a user with a
// terminal token from the dashboard. Cookies and sessions do not count, so
// pages of apps cannot open terminals.
func (p *Proxy) terminal(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	id, err := uuid.Parse(r.PathValue("workspaceagent"))
	if err != nil {
		return codersdk.Invalid("workspaceagent", "%.40q is not a UUID", r.PathValue("workspaceagent"))
	}
	key, ok := p.apps.Terminal(q.Get(workspaceapp.TerminalParam), id)
	if !ok {
		return codersdk.Errorf(codersdk.CodeUnauthenticated, "The terminal token is invalid or expired; request a new one")
	}
	arg, err := ptybridge.Argument(q)
	if err != nil {
		return err
	}
	about := url.Values{"key_id": {key}, "agent_id": {id.String()}}
	if ip := p.clients.IP(r); ip.IsValid() {
		about.Set("client_ip", ip.String())
	}
	first, err := p.dialAccess(r.Context(), about)
	if err != nil {
		return unavailable(err)
	}
	held, end := context.WithCancelCause(r.Context())
	defer end(context.Canceled)
	go p.watchAccess(held, end, about, first)
	stream, err := p.openStream(held, id, tunnel.KindPTY, arg)
	if err != nil {
		return codersdk.Errorf(codersdk.CodeUnavailable, "The agent could not open a terminal").WithDetail("%s", reason(err)).WithCause(err)
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		CompressionMode: websocket.CompressionDisabled,
		OriginPatterns:  []string{p.c.Primary.Host},
	})
	if err != nil {
		stream.Close()
		return nil //nolint:nilerr // Accept has replied already
	}
	ptybridge.Join(held, conn, stream, q)
	return nil
}
