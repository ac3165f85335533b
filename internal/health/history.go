package health

import (
	"context"
	"encoding/json"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/deployment"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

const (
	// historyKept is the retention of reports.
	historyKept = 24 * time.Hour
	// historyLimit bounds the reports that are returned, and those that wait to be
	// written while the database does not answer.
	historyLimit, pendingLimit = 2000, 200
	// recordInterval is the minimum time between recorded reports with the same
	// severities, because administrators can create reports at any time.
	recordInterval = time.Minute
)

// units are the units of the values of each section.
var units = map[codersdk.HealthSection]string{
	codersdk.HealthSectionAccessURL: "ms", codersdk.HealthSectionDatabase: "ms", codersdk.HealthSectionDERP: "ms", codersdk.HealthSectionWebsocket: "ms",
	codersdk.HealthSectionExternalAuth: "healthy providers", codersdk.HealthSectionProvisionerDaemons: "provisioners",
	codersdk.HealthSectionWorkspaceProxy: "healthy proxies", codersdk.HealthSectionNotifications: "waiting messages",
}

type checks = map[codersdk.HealthSection]codersdk.HealthSectionCheck

// record is a report that is to be written.
type record struct {
	at       time.Time
	sections checks
}

// Watch creates a report after each refresh period until ctx ends, so that there
// is a history also while nobody reads reports.
func (s *Service) Watch(ctx context.Context) {
	lifecycle.Every(ctx, s.c.Refresh, func(ctx context.Context) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.last == nil || s.c.Now().Sub(s.last.Time) >= s.c.Refresh/2 {
			s.renew(ctx)
		}
	})
}

// remember records a report. While the database does not answer, records are kept
// in memory and written later. The caller holds mu.
func (s *Service) remember(ctx context.Context, r *codersdk.HealthcheckReport, took map[codersdk.HealthSection]time.Duration) {
	next := record{at: r.Time, sections: sectionChecks(r, took)}
	if next.at.Sub(s.recorded.at) < recordInterval && sameSeverities(next.sections, s.recorded.sections) {
		return
	}
	s.recorded = next
	s.pending = append(s.pending, next)
	if over := len(s.pending) - pendingLimit; over > 0 {
		s.pending = s.pending[over:]
	}
	for len(s.pending) > 0 {
		b, err := json.Marshal(s.pending[0].sections)
		if err == nil {
			err = s.c.Store.HealthRecord(ctx, s.c.ReplicaID, s.pending[0].at, b)
		}
		if err != nil {
			return // the next report tries again
		}
		s.pending = s.pending[1:]
	}
}

// sectionChecks returns the results of a report by section.
func sectionChecks(r *codersdk.HealthcheckReport, took map[codersdk.HealthSection]time.Duration) checks {
	healthy := 0
	for _, p := range r.ExternalAuth.Items {
		if p.Healthy {
			healthy++
		}
	}
	proxies := 0
	for _, p := range r.WorkspaceProxy.WorkspaceProxies.Regions {
		if p.Name != codersdk.PrimaryProxy && p.Healthy {
			proxies++
		}
	}
	values := map[codersdk.HealthSection]float64{
		codersdk.HealthSectionExternalAuth: float64(healthy), codersdk.HealthSectionProvisionerDaemons: float64(len(r.ProvisionerDaemons.Items)),
		codersdk.HealthSectionWorkspaceProxy: float64(proxies), codersdk.HealthSectionNotifications: float64(r.Notifications.Waiting),
	}
	if d, err := time.ParseDuration(r.Database.Latency); err == nil {
		values[codersdk.HealthSectionDatabase] = milliseconds(d)
	}
	if r.AccessURL.Reachable {
		values[codersdk.HealthSectionAccessURL] = milliseconds(took[codersdk.HealthSectionAccessURL])
	}
	if r.Websocket.Healthy {
		values[codersdk.HealthSectionWebsocket] = milliseconds(took[codersdk.HealthSectionWebsocket])
	}
	for _, region := range r.DERP.Regions {
		for _, node := range region.NodeReports {
			if d, err := time.ParseDuration(node.RoundTripPing); err == nil && node.Healthy {
				values[codersdk.HealthSectionDERP] = max(values[codersdk.HealthSectionDERP], milliseconds(d))
			}
		}
	}
	out := checks{}
	for section, base := range bases(r) {
		c := codersdk.HealthSectionCheck{Severity: base.Severity, Finding: base.Error}
		if c.Finding == "" && len(base.Warnings) > 0 {
			c.Finding = string(base.Warnings[0].Code) + ": " + base.Warnings[0].Message
		}
		if v, ok := values[section]; ok {
			c.Value = &v
		}
		out[section] = c
	}
	return out
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func sameSeverities(a, b checks) bool {
	for section, c := range a {
		if b[section].Severity != c.Severity {
			return false
		}
	}
	return true
}

// History returns the reports of the last day of all servers, by section.
func (s *Service) History(ctx context.Context, actor access.Subject) (codersdk.HealthHistory, error) {
	out := codersdk.HealthHistory{Since: s.c.Now().Add(-historyKept), Sections: []codersdk.HealthSectionHistory{}}
	if err := deployment.Check(actor, codersdk.RBACActionRead, codersdk.RBACResourceDebugInfo); err != nil {
		return out, err
	}
	rows, err := s.c.Store.HealthHistory(ctx, out.Since, historyLimit)
	if err != nil {
		return out, err
	}
	points := map[codersdk.HealthSection][]codersdk.HealthSectionPoint{}
	for _, row := range rows {
		var sections checks
		if err := json.Unmarshal(row.Sections, &sections); err != nil {
			return out, err
		}
		for section, c := range sections {
			points[section] = append(points[section], codersdk.HealthSectionPoint{
				Time: row.CheckedAt, ReplicaID: row.ReplicaID, Hostname: row.Hostname, HealthSectionCheck: c,
			})
		}
	}
	for _, section := range codersdk.HealthSections() {
		h := codersdk.HealthSectionHistory{Section: section, Unit: units[section], Checks: points[section]}
		if h.Checks == nil {
			h.Checks = []codersdk.HealthSectionPoint{}
		}
		for i := len(h.Checks) - 1; i >= 0 && h.Checks[i].Severity == h.Checks[len(h.Checks)-1].Severity; i-- {
			h.SeveritySince = h.Checks[i].Time
		}
		out.Sections = append(out.Sections, h)
	}
	return out, nil
}

// PurgeHistory deletes the reports that are older than a day, and returns their
// number.
func (s *Service) PurgeHistory(ctx context.Context) (int64, error) {
	before := s.c.Now().Add(-historyKept)
	return postgres.InBatches(ctx, func() (int64, error) { return s.c.Store.HealthPurge(ctx, before) })
}
