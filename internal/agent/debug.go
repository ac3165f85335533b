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

// debugLogLimit is how much of its log an agent shows, from the beginning.
const debugLogLimit = 10 << 20

// debug answers questions about the agent itself. What it shows has no secret:
// no token, key, value of a variable or text of a script. (AG-23)
//
//	GET /debug/logs                          the log file
//	GET /debug/manifest                      what the server told the agent
//	GET /debug/magicsock                     the tunnels, in JSON
//	GET /debug/magicsock/debug-logging/true  log more, or with false less
//	GET /metrics, /debug/prometheus          what is counted, as Prometheus reads it
func (a *Agent) debug(mux *http.ServeMux) {
	mux.HandleFunc("GET /metrics", a.metrics)
	mux.HandleFunc("GET /debug/prometheus", a.metrics)
	mux.HandleFunc("GET /debug/logs", func(w http.ResponseWriter, _ *http.Request) {
		if a.logFile != nil {
			a.logFile.flushNow()
		}
		f, err := os.Open(filepath.Join(a.c.LogDir, logFileName))
		if err != nil {
			http.Error(w, "the log file cannot be read: "+err.Error(), http.StatusNotFound)
			return
		}
		defer f.Close()
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.CopyN(w, f, debugLogLimit) // the client is gone
	})
	mux.HandleFunc("GET /debug/manifest", a.whileAlive(func(w http.ResponseWriter, l *life) {
		b, err := protojson.MarshalOptions{Indent: "  ", UseProtoNames: true}.Marshal(withoutSecrets(l.manifest))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answerJSON(w, b)
	}))
	mux.HandleFunc("GET /debug/magicsock", a.whileAlive(func(w http.ResponseWriter, l *life) {
		b, err := json.MarshalIndent(map[string]any{"tunnels": l.listener.Load().Stats(), "sessions": l.ssh.Counts(), "terminals": l.ptys.Watched()}, "", "  ")
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		answerJSON(w, b)
	}))
	mux.HandleFunc("GET /debug/magicsock/debug-logging/{on}", func(w http.ResponseWriter, r *http.Request) {
		on, err := strconv.ParseBool(r.PathValue("on"))
		if err != nil {
			http.Error(w, "say true or false", http.StatusBadRequest)
			return
		}
		level := slog.LevelInfo
		if on {
			level = slog.LevelDebug
		}
		a.level.Set(level)
		a.log.Info("the level of the log was set", "level", level)
	})
}

func answerJSON(w http.ResponseWriter, b []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(b, '\n')) // the client is gone
}

// whileAlive answers with what the manifest began, once there is a manifest.
func (a *Agent) whileAlive(answer func(http.ResponseWriter, *life)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		a.mu.Lock()
		l := a.life
		a.mu.Unlock()
		if l == nil {
			http.Error(w, "the agent has not been connected to its server yet; see /debug/logs", http.StatusServiceUnavailable)
			return
		}
		answer(w, l)
	}
}

// withoutSecrets gives a copy that may be shown.
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

// serveDebug serves debug on this machine alone until ctx ends. A port that is
// taken, by the agent of another workspace perhaps, does no harm.
func (a *Agent) serveDebug(ctx context.Context) {
	if a.c.DebugAddress == "" {
		return
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", a.c.DebugAddress)
	if err != nil {
		a.log.Debug("the debug endpoints are not served", "address", a.c.DebugAddress, "error", err)
		return
	}
	mux := http.NewServeMux()
	a.debug(mux)
	srv := &http.Server{Handler: sameHost(mux), ReadHeaderTimeout: dialTimeout}
	stop := context.AfterFunc(ctx, func() { srv.Close() })
	defer stop()
	_ = srv.Serve(ln) // ends with ctx
}

// sameHost refuses requests that a web page made by a name of its own for this
// machine.
func sameHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "ask for it by a loopback address", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
