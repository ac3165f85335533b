package provisionerd

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// metrics are the metrics of the contract. Daemons of one process share them.
type metrics struct {
	current *prometheus.GaugeVec
	daemons prometheus.Gauge
	jobs    *prometheus.HistogramVec
	builds  *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer) (*metrics, error) {
	buckets := []float64{1, 10, 30, 60, 60 * 5, 60 * 10, 60 * 30, 60 * 60}
	m := &metrics{
		current: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "coderd_provisionerd_jobs_current", Help: "Jobs that are being run now.",
		}, []string{"provisioner"}),
		daemons: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "coderd_provisionerd_num_daemons", Help: "Provisioner daemons in this process.",
		}),
		jobs: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "coderd_provisionerd_job_timings_seconds", Help: "How long jobs took.", Buckets: buckets,
		}, []string{"provisioner", "status"}),
		builds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "coderd_provisionerd_workspace_build_timings_seconds", Help: "How long workspace builds took.", Buckets: buckets,
		}, []string{"template_name", "template_version", "workspace_transition", "status"}),
	}
	if reg == nil {
		return m, nil
	}
	return m, errors.Join(register(reg, &m.current), register(reg, &m.daemons), register(reg, &m.jobs), register(reg, &m.builds))
}

// register registers c, or replaces c by the collector that another daemon
// registered.
func register[T prometheus.Collector](reg prometheus.Registerer, c *T) error {
	err := reg.Register(*c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if same, ok := already.ExistingCollector.(T); ok {
			*c = same
			return nil
		}
	}
	return err
}

func (m *metrics) observe(job *provisionerd.AcquiredJob, status string, took time.Duration) {
	m.jobs.WithLabelValues(job.Provisioner, status).Observe(took.Seconds())
	if b := job.GetWorkspaceBuild(); b != nil {
		md := b.GetMetadata()
		transition := map[string]string{"START": "start", "STOP": "stop", "DESTROY": "delete"}[md.GetWorkspaceTransition().String()]
		m.builds.WithLabelValues(md.GetTemplateName(), md.GetTemplateVersion(), transition, status).Observe(took.Seconds())
	}
}
