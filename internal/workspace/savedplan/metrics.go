package savedplan

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// Reasons of plans that were discarded, in metrics.
const (
	reasonStale   = "stale"     // the inputs of the build differ
	reasonOld     = "too_old"   // MaxAge
	reasonLarge   = "too_large" // maxMessage
	reasonRefused = "refused"   // by the provisioner or by Terraform
	reasonSurplus = "surplus"   // plans of other workspaces are newer
)

// Metrics counts plans on one server. It is safe for concurrent use; nil counts nothing.
type Metrics struct {
	made, used prometheus.Counter
	discarded  *prometheus.CounterVec
	kept       prometheus.Gauge
}

// NewMetrics registers the metrics; without r it returns nil.
func NewMetrics(r prometheus.Registerer) *Metrics {
	if r == nil {
		return nil
	}
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Name: "coderd_plans_ahead_" + name, Help: help}
	}
	m := &Metrics{
		made:      prometheus.NewCounter(counter("made_total", "Plans of the next start of a workspace that were stored.")),
		used:      prometheus.NewCounter(counter("used_total", "Builds that succeeded and applied their stored plan.")),
		discarded: prometheus.NewCounterVec(counter("discarded_total", "Stored plans that no build applied."), []string{"reason"}),
		kept:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "coderd_plans_ahead_kept", Help: "Stored plans at the last check."}),
	}
	for _, reason := range []string{reasonStale, reasonOld, reasonLarge, reasonRefused, reasonSurplus} {
		m.discarded.WithLabelValues(reason)
	}
	r.MustRegister(m.made, m.used, m.discarded, m.kept)
	return m
}

// Finished counts what became of the plan of a build that succeeded: a value of saved_plan.
func (m *Metrics) Finished(savedPlan string) {
	switch {
	case m == nil:
	case savedPlan == provisionerd.SavedPlanUsed:
		m.used.Inc()
	case savedPlan == provisionerd.SavedPlanRefused:
		m.discard(reasonRefused, 1)
	}
}

// Trimmed counts the plans that a check deleted, and records how many are left.
func (m *Metrics) Trimmed(old, surplus, left int64) {
	if m == nil {
		return
	}
	m.discard(reasonOld, old)
	m.discard(reasonSurplus, surplus)
	m.kept.Set(float64(left))
}

func (m *Metrics) discard(reason string, n int64) {
	if m != nil {
		m.discarded.WithLabelValues(reason).Add(float64(n))
	}
}

func (m *Metrics) store() {
	if m != nil {
		m.made.Inc()
	}
}
