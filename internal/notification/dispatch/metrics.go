package dispatch

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// metrics are those of deliveries, per method and template.
type metrics struct {
	took, waited *prometheus.HistogramVec
	inflight     *prometheus.GaugeVec
	retries      *prometheus.CounterVec
	failures     *prometheus.CounterVec
	pending      prometheus.Gauge
	updated      prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	const prefix = "coderd_notifications_"
	both := []string{"method", "notification_template_id"}
	m := &metrics{
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "dispatcher_send_seconds", Help: "Duration of an attempt to send a notification, in seconds.",
			Buckets: []float64{0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60},
		}, []string{"method"}),
		waited: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "queued_seconds", Help: "Time from the creation of a notification to its first attempt, in seconds.",
			Buckets: []float64{0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14400},
		}, []string{"method"}),
		inflight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: prefix + "inflight_dispatches", Help: "Number of notifications that this server is sending.",
		}, both),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "retry_count", Help: "Number of failed attempts that are repeated.",
		}, both),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "failed_total", Help: "Number of notifications that are not sent after their last attempt.",
		}, []string{"method"}),
		pending: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: prefix + "pending_updates", Help: "Number of results of attempts that are being recorded.",
		}),
		updated: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "synced_updates_total", Help: "Number of results of attempts that were recorded.",
		}),
	}
	if r != nil {
		r.MustRegister(m.took, m.waited, m.inflight, m.retries, m.failures, m.pending, m.updated)
	}
	return m
}

// begin records the start of an attempt; the caller calls end after it.
func (m *metrics) begin(r sqlc.NotificationClaimRow) (end func()) {
	start := time.Now()
	if r.Attempts == 1 {
		m.waited.WithLabelValues(r.Method).Observe(max(0, start.Sub(r.CreatedAt).Seconds()))
	}
	g := m.inflight.WithLabelValues(r.Method, r.Kind.String())
	g.Inc()
	return func() {
		g.Dec()
		m.took.WithLabelValues(r.Method).Observe(time.Since(start).Seconds())
	}
}

func (m *metrics) retried(r sqlc.NotificationClaimRow) {
	m.retries.WithLabelValues(r.Method, r.Kind.String()).Inc()
}

func (m *metrics) failed(r sqlc.NotificationClaimRow) {
	m.failures.WithLabelValues(r.Method).Inc()
}
