package prebuild

import (
	"context"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// labels name a preset in metrics.
type labels struct{ organization, template, preset string }

// number is one value of a preset.
type number struct {
	labels
	metric string
	kind   prometheus.ValueType
	value  float64
}

// tally collects the results of the last reconciliation. Every replica exports the same values,
// because they come from the database.
type tally struct {
	mu  sync.Mutex
	now []number
}

const metricPrefix = "coderd_prebuilt_workspaces_"

// helps are the help texts of the metrics.
func helps() map[string]string {
	return map[string]string{
		"created_total": "Prebuilt workspaces requested.",
		"failed_total":  "Prebuilt workspaces that failed to build.",
		"claimed_total": "Prebuilt workspaces claimed by users.",
		"desired":       "Desired number of prebuilt workspaces.",
		"running":       "Existing prebuilt workspaces, ready or not.",
		"eligible":      "Prebuilt workspaces that can be claimed.",
	}
}

func describe(metric string) *prometheus.Desc {
	return prometheus.NewDesc(metricPrefix+metric, helps()[metric], []string{"organization_name", "preset_name", "template_name"}, nil)
}

// Describe implements prometheus.Collector.
func (t *tally) Describe(d chan<- *prometheus.Desc) {
	for name := range helps() {
		d <- describe(name)
	}
}

// Collect implements prometheus.Collector.
func (t *tally) Collect(m chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.now {
		m <- prometheus.MustNewConstMetric(describe(n.metric), n.kind, n.value, n.organization, n.preset, n.template)
	}
}

// count stores the results of a reconciliation.
func (s *Service) count(ctx context.Context, all []situation) error {
	if s.Registerer == nil {
		return nil
	}
	rows, err := s.Store.PrebuildCounts(ctx)
	if err != nil {
		return err
	}
	var now []number
	for _, r := range rows {
		l := labels{r.Organization, r.Template, r.Preset}
		for metric, n := range map[string]int64{"created_total": r.Created, "failed_total": r.Failed, "claimed_total": r.Claimed} {
			now = append(now, number{l, metric, prometheus.CounterValue, float64(n)})
		}
	}
	for _, st := range all {
		running, eligible := st.counts()
		for _, p := range st.presets {
			l := st.labels
			l.preset = p.name
			for metric, n := range map[string]int{"desired": p.desired, "running": running[p.id], "eligible": eligible[p.id]} {
				now = append(now, number{l, metric, prometheus.GaugeValue, float64(n)})
			}
		}
	}
	s.tally.mu.Lock()
	s.tally.now = now
	s.tally.mu.Unlock()
	return nil
}
