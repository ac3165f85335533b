package gitmirror

import "github.com/prometheus/client_golang/prometheus"

// Results of requests, in metrics.
const (
	resultSent     = "sent"
	resultUpdating = "updating" // the mirror has no current copy yet
	resultRefused  = "refused"  // by the host, or it does not answer
	resultFailed   = "failed"
)

// metrics counts requests on one server.
type metrics struct {
	requests *prometheus.CounterVec
	bytes    prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) metrics {
	m := metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "coderd_git_mirror_requests_total", Help: "Requests of workspaces for a copy of a git repository.",
		}, []string{"result"}),
		bytes: prometheus.NewGauge(prometheus.GaugeOpts{Name: "coderd_git_mirror_bytes", Help: "Size of the copies of git repositories on this server."}),
	}
	for _, result := range []string{resultSent, resultUpdating, resultRefused, resultFailed} {
		m.requests.WithLabelValues(result)
	}
	if r != nil {
		r.MustRegister(m.requests, m.bytes)
	}
	return m
}
