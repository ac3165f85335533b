package dispatch

import (
	"context"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

const (
	// ReportPeriod is the time between two reports of failed builds, and the time
	// that a report covers.
	ReportPeriod = 7 * 24 * time.Hour
	// reportInterval is how often a server checks whether a report is due.
	reportInterval = 15 * time.Minute

	reportSetting     = "failed_builds_report" // its updated_at is the time of the last report
	maxReportBuilds   = 5                      // builds listed for each version
	maxReportVersions = 10                     // versions listed for each template
)

// Report is the data of a report of failed builds of one template. Numbers are
// text, as a notification shows them.
type Report struct {
	Failed   string          `json:"failed"` // builds that failed in the period
	Versions []VersionReport `json:"versions"`
	More     string          `json:"more"` // number of further versions with failures; "" for none
}

// VersionReport is the part of a report about one template version.
type VersionReport struct {
	Name   string   `json:"name"`
	Builds string   `json:"builds"` // that ended in the period
	Failed string   `json:"failed"`
	Latest []string `json:"latest"` // failed builds as owner/workspace #number, the newest first
}

// reportForEver checks every 15 minutes whether a report is due, until ctx ends.
func (s *Service) reportForEver(ctx context.Context) {
	lifecycle.Every(ctx, reportInterval, func(ctx context.Context) {
		if err := s.Report(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("cannot write the report of failed builds; retrying", "error", err)
		}
	})
}

// Report enqueues the reports of failed builds if the last ones are at least
// ReportPeriod old: one notification for each template whose workspaces had
// failed builds. Of all servers that share a database, one writes them. The first
// period starts with the first call.
func (s *Service) Report(ctx context.Context) error {
	return s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		first, err := q.ReportClaim(ctx, reportSetting, ReportPeriod.Seconds())
		if codersdk.Is(err, codersdk.CodeNotFound) || first {
			return nil
		}
		if err != nil {
			return err
		}
		rows, err := q.ReportBuilds(ctx, maxReportBuilds, ReportPeriod.Seconds())
		if err != nil {
			return err
		}
		for len(rows) > 0 {
			n := 1
			for n < len(rows) && rows[n].TemplateID == rows[0].TemplateID {
				n++
			}
			if err := enqueueReport(ctx, q, rows[0].TemplateID, rows[:n]); err != nil {
				return err
			}
			rows = rows[n:]
		}
		return nil
	})
}

// enqueueReport records the notification of one template.
func enqueueReport(ctx context.Context, q *sqlc.Queries, template uuid.UUID, rows []sqlc.ReportBuildsRow) error {
	var out Report
	failed := int64(0)
	for i, r := range rows {
		failed += r.Failed
		if i < maxReportVersions {
			out.Versions = append(out.Versions, VersionReport{
				Name: r.Name, Builds: strconv.FormatInt(r.Builds, 10), Failed: strconv.FormatInt(r.Failed, 10), Latest: r.Latest,
			})
		}
	}
	out.Failed = strconv.FormatInt(failed, 10)
	if more := len(rows) - maxReportVersions; more > 0 {
		out.More = strconv.Itoa(more)
	}
	return notification.Enqueue(ctx, q, notification.Event{Template: notification.TemplateBuildsFailed, TemplateID: template, Data: out})
}
