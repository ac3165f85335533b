package agent

import (
	"context"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/internal/usage"
)

// monitorRow is how many measurements on end must agree: a peak is nobody's
// alarm, and a use that sways about its threshold makes no stream of news.
const monitorRow = 6

// trend tells from measurements whether something runs short.
type trend struct {
	over  bool // as the latest say
	row   int  // how many on end do
	known bool
	short bool // as was last told
}

// add takes a measurement and says whether there is news.
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

// memory tells of the container's, or where that has no limit of the machine's.
func memory() (*usage.Amount, error) {
	m := usage.Machine{Root: "/"}
	if a, err := m.Memory(false); err == nil && a.Total != nil {
		return a, nil
	}
	return m.Memory(true)
}

// monitor watches the use of memory or of a volume and reports when it runs
// short, or no more: the first time once enough has been measured, so that what
// the server knew before is put right. (AG-22)
func (l *life) monitor(ctx context.Context, m *agentrpc.Monitor) {
	measure := memory
	if m.Path != "" {
		path := expand(m.Path, home(l.env), l.env)
		measure = func() (*usage.Amount, error) { return usage.Disk(path) }
	}
	type result struct {
		used *usage.Amount
		err  error
	}
	// A volume that hangs must not hold up the end.
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
					l.log.Warn("what the template has watched cannot be measured", "path", m.Path, "error", r.err)
				}
				said = true
				continue
			}
			percent := 100 * r.used.Used / *r.used.Total
			if so.add(percent >= float64(m.Threshold)) {
				l.log.Info("the use of memory or of a volume changed", "path", m.Path, "percent", int(percent), "threshold", m.Threshold, "short", so.short)
				l.reports.monitor(&agentrpc.MonitorRequest{Path: m.Path, Short: so.short, Percent: int32(percent)})
			}
		}
	}
}
