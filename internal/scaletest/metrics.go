package scaletest

import (
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Serve serves the measurements as Prometheus metrics at an address, below
// /metrics, until stop is called: a summary for each series, in seconds, and a
// counter for each total.
func (r *Recorder) Serve(address string) (stop func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(r)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go srv.Serve(l) //nolint:errcheck // it ends when stop closes it
	return func() { srv.Close() }, nil
}

// Describe sends nothing: the series are known only when they are measured.
func (r *Recorder) Describe(chan<- *prometheus.Desc) {}

// Collect sends the current values.
func (r *Recorder) Collect(out chan<- prometheus.Metric) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, h := range r.series {
		d := prometheus.NewDesc(metricName(name)+"_seconds", "Durations of: "+name, nil, nil)
		quantiles := map[float64]float64{}
		for _, q := range []float64{0.5, 0.95, 0.99} {
			quantiles[q] = float64(h.ValueAtQuantile(100*q)) / 1e6
		}
		n := h.TotalCount()
		out <- prometheus.MustNewConstSummary(d, uint64(n), h.Mean()*float64(n)/1e6, quantiles)
	}
	for name, n := range r.totals {
		d := prometheus.NewDesc(metricName(name)+"_total", "Total of: "+name, nil, nil)
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n))
	}
	failures := int64(0)
	for _, f := range r.failures {
		failures += f.Count
	}
	d := prometheus.NewDesc(metricName("failures")+"_total", "Tasks that failed", nil, nil)
	out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(failures+r.dropped))
}

// metricName returns the name of a metric: characters that names of metrics cannot have become "_".
func metricName(name string) string {
	return "coderd_scaletest_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}
