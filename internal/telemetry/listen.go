package telemetry

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// NewRegistry returns a registry with the usual go_ and process_ metrics.
func NewRegistry() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return r
}

// Metrics serves a registry on every path. (MET-01)
func Metrics(r *prometheus.Registry) http.Handler {
	return promhttp.InstrumentMetricHandler(r, promhttp.HandlerFor(r, promhttp.HandlerOpts{Registry: r}))
}

// Profiles serves /debug/pprof.
func Profiles() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("/debug/pprof/", pprof.Index)
	m.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	m.HandleFunc("/debug/pprof/profile", pprof.Profile)
	m.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	m.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return m
}

// Listener serves one handler on one address, as a lifecycle.Service.
type Listener struct {
	Address string
	Handler http.Handler

	server *http.Server
	done   chan struct{}
}

// Start listens on the address before it returns.
func (l *Listener) Start(context.Context) error {
	ln, err := net.Listen("tcp", l.Address)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", l.Address, err)
	}
	l.server = &http.Server{Handler: l.Handler, ReadHeaderTimeout: 10 * time.Second}
	l.done = make(chan struct{})
	go func() {
		defer close(l.done)
		l.server.Serve(ln) //nolint:errcheck // always http.ErrServerClosed after Stop
	}()
	return nil
}

// Stop waits for open requests, then closes the listener.
func (l *Listener) Stop(ctx context.Context) error {
	err := l.server.Shutdown(ctx)
	if err != nil {
		l.server.Close() //nolint:errcheck // Shutdown's error is given
	}
	<-l.done
	return err
}
