package presence

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Reasons of writes of metadata, as labels of metrics.
const (
	reasonScheduled = "scheduled"
	reasonWatched   = "watched"  // watched through another server
	reasonShutdown  = "shutdown" // this server stops
	reasonDirect    = "direct"   // the agent disconnected
)

// metrics measure the writes of samples.
type metrics struct {
	size, utilization    prometheus.Histogram
	batches              *prometheus.CounterVec
	flushed, droppedKeys prometheus.Counter
	took                 *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	const prefix = "coderd_agentapi_metadata_"
	m := &metrics{
		size: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "batch_size", Help: "Metadata values in one write.", Buckets: []float64{1, 10, 30, 100, 300, 1000},
		}),
		utilization: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "batch_utilization", Help: "Metadata values in one write, as a fraction of the maximum.",
			Buckets: []float64{0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 1},
		}),
		batches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "batches_total", Help: "Writes of metadata values, by reason.",
		}, []string{"reason"}),
		flushed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "flushed_total", Help: "Metadata values written to the database.",
		}),
		droppedKeys: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "dropped_keys_total", Help: "Metadata values dropped because the template does not declare their key.",
		}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "flush_duration_seconds", Help: "Duration of writing a sample in seconds, by reason.",
			Buckets: []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10},
		}, []string{"reason"}),
	}
	if r != nil {
		r.MustRegister(m.size, m.utilization, m.batches, m.flushed, m.droppedKeys, m.took)
	}
	return m
}

// wrote records a write of n values.
func (m *metrics) wrote(reason string, n int) {
	m.size.Observe(float64(n))
	m.utilization.Observe(float64(n) / sampleBatch)
	m.batches.WithLabelValues(reason).Inc()
	m.flushed.Add(float64(n))
}

// ended records a sample that started at the given time.
func (m *metrics) ended(reason string, begin time.Time) {
	m.took.WithLabelValues(reason).Observe(time.Since(begin).Seconds())
}
