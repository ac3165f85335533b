package prebuild

import (
	"context"
	"sync"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder"
)

// labels name a preset in metrics.
type labels struct{ organization, template, preset string }

// number is one number of a preset.
type number struct {
	labels
	metric string
	kind   prometheus.ValueType
	value  float64
}

// tally is a collector of what the last round saw: every replica tells the same,
// because all of it is in the database.
type tally struct {
	mu  sync.Mutex
	now []number
}

const metricPrefix = "coderd_prebuilt_workspaces_"

// helps are the metrics.
func helps() map[string]string {
	return map[string]string{
		"created_total": "Prebuilt workspaces that were asked for.",
		"failed_total":  "Prebuilt workspaces that could not be made.",
		"claimed_total": "Prebuilt workspaces that people took.",
		"desired":       "How many prebuilt workspaces there should be now.",
		"running":       "How many there are, ready or not.",
		"eligible":      "How many can be claimed.",
	}
}

func describe(metric string) *prometheus.Desc {
	return prometheus.NewDesc(metricPrefix+metric, helps()[metric], []string{"organization_name", "preset_name", "template_name"}, nil)
}

// Describe is of prometheus.Collector.
func (t *tally) Describe(d chan<- *prometheus.Desc) {
	for name := range helps() {
		d <- describe(name)
	}
}

// Collect is of prometheus.Collector.
func (t *tally) Collect(m chan<- prometheus.Metric) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.now {
		m <- prometheus.MustNewConstMetric(describe(n.metric), n.kind, n.value, n.organization, n.preset, n.template)
	}
}

// count keeps what a round saw.
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
		running, eligible := map[uuid.UUID]int{}, map[uuid.UUID]int{}
		for _, w := range st.workspaces {
			if st.wanted(w) == nil || w.transition != coder.WorkspaceTransitionStart || w.status != coder.ProvisionerJobStatusSucceeded {
				continue
			}
			running[w.preset]++
			if w.ready {
				eligible[w.preset]++
			}
		}
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
