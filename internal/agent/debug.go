package agent

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
)

// debugLogLimit bounds the bytes of the log file that are served, from its
// beginning.
const debugLogLimit = 10 << 20

// debug serves debug endpoints of the agent. Their output contains no secrets:
// no tokens, keys, values of variables or texts of scripts. (AG-23)
//
//	GET /debug/logs                          the log file
//	GET /debug/manifest                      the manifest, without secrets
//	GET /debug/magicsock                     the tunnels, as JSON
//	GET /debug/netcheck                      a new check of the network, as JSON
//	GET /debug/magicsock/debug-logging/true  enable debug logs; false disables them
//	GET /metrics, /debug/prometheus          Prometheus metrics
func (a *Agent) debug(mux *http.ServeMux) {
	mux.HandleFunc("GET /metrics", a.metrics)
	mux.HandleFunc("GET /debug/prometheus", a.metrics)
	mux.HandleFunc("GET /debug/logs", func(w http.ResponseWriter, _ *http.Request) {
		if a.logFile != nil {
			a.logFile.Flush()
		}
		f, err := os.Open(filepath.Join(a.c.LogDir, logFileName))
		if err != nil {
			http.Error(w, "cannot read the log file: "+err.Error(), http.StatusNotFound)
			return
		}
		defer f.Close()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.CopyN(w, f, debugLogLimit) // the client has disconnected
	})
	mux.HandleFunc("GET /debug/manifest", a.whileAlive(func(w http.ResponseWriter, _ *http.Request, l *life) {
		b, err := protojson.MarshalOptions{Indent: "  ", UseProtoNames: true}.Marshal(withoutSecrets(l.manifest))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answerJSON(w, b)
	}))
	mux.HandleFunc("GET /debug/magicsock", a.whileAlive(func(w http.ResponseWriter, _ *http.Request, l *life) {
		b, err := json.MarshalIndent(map[string]any{"tunnels": l.listener.Load().Stats(), "sessions": l.ssh.Counts(), "terminals": l.ptys.Watched()}, "", "  ")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answerJSON(w, b)
	}))
	mux.HandleFunc("GET /debug/netcheck", a.whileAlive(a.checkNetwork))
	mux.HandleFunc("GET /debug/magicsock/debug-logging/{on}", func(w http.ResponseWriter, r *http.Request) {
		on, err := strconv.ParseBool(r.PathValue("on"))
		if err != nil {
			http.Error(w, "use true or false", http.StatusBadRequest)
			return
		}
		level := slog.LevelInfo
		if on {
			level = slog.LevelDebug
		}
		a.level.Set(level)
		a.log.Info("log level changed", "level", level)
	})
}

// checkNetwork checks the network between this machine and the server, which takes
// some seconds.
func (a *Agent) checkNetwork(w http.ResponseWriter, r *http.Request, l *life) {
	if a.c.Netcheck == nil {
		http.Error(w, "this agent has no network check", http.StatusNotFound)
		return
	}
	b, err := json.MarshalIndent(a.c.Netcheck(r.Context(), l.manifest.StunServers, l.manifest.DisableDirectConnections), "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answerJSON(w, b)
}

func answerJSON(w http.ResponseWriter, b []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '\n')) // the client has disconnected
}

// whileAlive calls answer with the current life, or responds with an error
// before the first manifest.
func (a *Agent) whileAlive(answer func(http.ResponseWriter, *http.Request, *life)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		l := a.life
		a.mu.Unlock()
		if l == nil {
			http.Error(w, "the agent has not connected to the server yet; see /debug/logs", http.StatusServiceUnavailable)
			return
		}
		answer(w, r, l)
	}
}

// withoutSecrets returns a copy of the manifest without secrets.
func withoutSecrets(m *agentrpc.Manifest) *agentrpc.Manifest {
	m = proto.Clone(m).(*agentrpc.Manifest)
	m.SshHostKeySeed = nil
	for name := range m.Environment {
		m.Environment[name] = "(hidden)"
	}
	for _, s := range m.Scripts {
		s.Script = "(hidden)"
	}
	for _, d := range m.Metadata {
		d.Script = "(hidden)"
	}
	for _, app := range m.Apps {
		app.Url, app.HealthcheckUrl = "", ""
	}
	return m
}

// serveDebug serves debug on a loopback address until ctx ends. A port in use,
// for example by the agent of another workspace, is not an error.
func (a *Agent) serveDebug(ctx context.Context) {
	if a.c.DebugAddress == "" {
		return
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.c.DebugAddress)
	if err != nil {
		a.log.Debug("cannot serve the debug endpoints", "address", a.c.DebugAddress, "error", err)
		return
	}
	mux := http.NewServeMux()
	a.debug(mux)
	srv := &http.Server{Handler: sameHost(mux), ReadHeaderTimeout: dialTimeout}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	_ = srv.Serve(ln) // returns when ctx ends
}

// sameHost rejects requests whose host is not a loopback address, as in DNS
// rebinding attacks of web pages.
func sameHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "use a loopback address", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
