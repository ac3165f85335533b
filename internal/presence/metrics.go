package presence

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Why values of metadata are written down, as the metrics say it.
const (
	reasonScheduled = "scheduled"
	reasonWatched   = "watched"  // somebody looks over another server
	reasonShutdown  = "shutdown" // this server stops
	reasonDirect    = "direct"   // of an agent whose connection has ended
)

// metrics are what the writing of samples costs.
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
			Name: prefix + "batch_size", Help: "Values of metadata that one statement wrote.", Buckets: []float64{1, 10, 30, 100, 300, 1000},
		}),
		utilization: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: prefix + "batch_utilization", Help: "Part of the most values that one statement may write.", Buckets: []float64{0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 1},
		}),
		batches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: prefix + "batches_total", Help: "Statements that wrote values of metadata, by why they did.",
		}, []string{"reason"}),
		flushed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "flushed_total", Help: "Values of metadata that were written to the database.",
		}),
		droppedKeys: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "dropped_keys_total", Help: "Values that agents sent under keys that their template does not declare.",
		}),
		took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "flush_duration_seconds", Help: "Seconds that writing a sample took, by why it was written.",
			Buckets: []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10},
		}, []string{"reason"}),
	}
	if r != nil {
		r.MustRegister(m.size, m.utilization, m.batches, m.flushed, m.droppedKeys, m.took)
	}
	return m
}

// wrote notes a statement that wrote n values.
func (m *metrics) wrote(reason string, n int) {
	m.size.Observe(float64(n))
	m.utilization.Observe(float64(n) / sampleBatch)
	m.batches.WithLabelValues(reason).Inc()
	m.flushed.Add(float64(n))
}

// ended notes a sample that began then.
func (m *metrics) ended(reason string, begin time.Time) {
	m.took.WithLabelValues(reason).Observe(time.Since(begin).Seconds())
}
