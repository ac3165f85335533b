package agent

import (
	"context"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/internal/agent/environ"
	"github.com/seed-2a7f8fe7/coder/internal/sysstat"
)

// monitorRow is the number of consecutive measurements that must agree. It
// suppresses short peaks, and repeated reports about values near the threshold.
const monitorRow = 6

// trend decides from measurements whether a resource runs short.
type trend struct {
	over  bool // the latest measurement
	row   int  // number of equal consecutive measurements
	known bool
	short bool // last reported state
}

// add records a measurement and reports whether the state changed.
func (t *trend) add(over bool) bool {
	if t.row == 0 || over != t.over {
		t.over, t.row = over, 0
	}
	if t.row++; t.row < monitorRow || t.known && t.short == over {
		return false
	}
	t.known, t.short = true, over
	return true
}

// memory returns the memory usage of the container, or of the machine if the
// container has no limit.
func memory() (*sysstat.Amount, error) {
	m := sysstat.Machine{Root: "/"}
	if a, err := m.Memory(false); err == nil && a.Total != nil {
		return a, nil
	}
	return m.Memory(true)
}

// monitor watches the usage of memory or of a volume and reports changes of its
// state. It reports the first state as soon as there are enough measurements,
// which corrects an outdated state on the server. (AG-22)
func (l *life) monitor(ctx context.Context, m *agentrpc.Monitor) {
	measure := memory
	if m.Path != "" {
		path := environ.Expand(m.Path, environ.Home(l.env), l.env)
		measure = func() (*sysstat.Amount, error) { return sysstat.Disk(path) }
	}
	type result struct {
		used *sysstat.Amount
		err  error
	}
	// A hanging volume must not block the shutdown.
	results, measuring := make(chan result, 1), false
	t := time.NewTicker(l.c.MonitorInterval)
	defer t.Stop()
	var so trend
	said := false
	for {
		select {
		case <-t.C:
			if !measuring {
				measuring = true
				go func() {
					used, err := measure()
					results <- result{used, err}
				}()
			}
			continue
		case <-ctx.Done():
			return
		case r := <-results:
			measuring = false
			if r.err != nil || r.used.Total == nil || *r.used.Total <= 0 {
				if !said {
					l.log.Warn("cannot measure a monitored resource", "path", m.Path, "error", r.err)
				}
				said = true
				continue
			}
			percent := 100 * r.used.Used / *r.used.Total
			if so.add(percent >= float64(m.Threshold)) {
				l.log.Info("state of a monitored resource changed", "path", m.Path, "percent", int(percent), "threshold", m.Threshold, "short", so.short)
				l.reports.Monitor(&agentrpc.MonitorRequest{Path: m.Path, Short: so.short, Percent: int32(percent)})
			}
		}
	}
}
