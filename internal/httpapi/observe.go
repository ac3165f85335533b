package httpapi

import (
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/telemetry"
)

// requestIDHeader identifies a request in responses, logs and the audit log.
const requestIDHeader = "X-Coder-Request-Id"

// metrics are the metrics of the API. (contract metrics.json)
type metrics struct {
	requests   *prometheus.CounterVec
	latency    *prometheus.HistogramVec
	concurrent prometheus.Gauge
	websockets prometheus.Gauge
	open       *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "coderd_api_requests_processed_total", Help: "Requests served, by status code, method and route.",
		}, []string{"code", "method", "path"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "coderd_api_request_latencies_seconds", Help: "Duration of requests in seconds, without WebSockets.",
			Buckets: []float64{0.001, 0.005, 0.010, 0.025, 0.050, 0.100, 0.500, 1, 5, 10, 30},
		}, []string{"method", "path"}),
		concurrent: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "coderd_api_concurrent_requests", Help: "Requests in progress.",
		}),
		websockets: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "coderd_api_concurrent_websockets", Help: "Open WebSockets.",
		}),
		open: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "coderd_api_websocket_durations_seconds", Help: "Duration of WebSockets in seconds.",
			Buckets: []float64{0.1, 1, 10, 60, 600, 3600, 36000},
		}, []string{"path"}),
	}
	if r != nil {
		r.MustRegister(m.requests, m.latency, m.concurrent, m.websockets, m.open)
	}
	return m
}

// recorder records the status of a response; 0 before the response starts.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(b)
}

// Flush sends the data written so far.
func (r *recorder) Flush() {
	if f, ok := r.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap lets http.ResponseController and WebSockets reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// observe wraps every request: request id, version header, recovery from
// panics, metrics, and one log line at debug level.
func (a *API) observe(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		id := uuid.NewString()
		w.Header().Set(requestIDHeader, id)
		w.Header().Set(codersdk.BuildVersionHeader, a.Version)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		origin := access.Origin{IP: a.Clients.IP(r), UserAgent: r.UserAgent(), RequestID: id, Path: r.URL.Path}
		if outer, ok := access.OriginOf(r.Context()); ok && outer.Path != "" {
			origin.Path = outer.Path // a handler of this process calls the API for its own request
		}
		ctx, hand := telemetry.WithHandOver(access.WithOrigin(r.Context(), origin))
		r = r.WithContext(ctx)
		rec := &recorder{ResponseWriter: w}
		_, pattern := mux.Handler(r)
		_, path, _ := strings.Cut(pattern, " ")
		finish := a.metrics.startRequest(r, path)
		r, endSpan := a.startSpan(r, path, id)
		defer func() {
			p := recover()
			begun := rec.status != 0
			if p != nil && p != http.ErrAbortHandler {
				err := fmt.Errorf("panic: %v\n%s", p, debug.Stack())
				if begun {
					a.Log.ErrorContext(r.Context(), "request failed after its response started", "path", r.URL.Path, "request_id", id, "error", err)
				}
				a.fail(rec, r, err)
			}
			a.Log.DebugContext(r.Context(), "request", "method", r.Method, "path", r.URL.Path, "status", rec.status,
				"took", time.Since(start), "remote", origin.IP, "request_id", id)
			status := rec.status
			hand.Then(func() {
				finish(status, time.Since(start))
				endSpan(status)
			})
			if p == http.ErrAbortHandler || p != nil && begun {
				panic(http.ErrAbortHandler) // abort, so that a partial response does not look complete
			}
		}()
		mux.ServeHTTP(rec, r)
	})
}

// startRequest counts a request as in progress and returns the function that
// counts its end.
func (m *metrics) startRequest(r *http.Request, path string) func(status int, took time.Duration) {
	method := knownMethod(r.Method)
	if path == "" {
		path = "unknown"
	}
	socket := isWebSocket(r)
	m.concurrent.Inc()
	if socket {
		m.websockets.Inc()
	}
	return func(status int, took time.Duration) {
		if status == 0 {
			status = http.StatusOK
		}
		m.concurrent.Dec()
		m.requests.WithLabelValues(strconv.Itoa(status), method, path).Inc()
		if socket {
			m.websockets.Dec()
			m.open.WithLabelValues(path).Observe(took.Seconds())
			return
		}
		m.latency.WithLabelValues(method, path).Observe(took.Seconds())
	}
}
