// Package insight reports usage: daily active users, templates, apps, parameters, and the latency
// between users and their workspaces. It reads the sessions that agents reported, summed up by the
// hour, and the periods in which apps were in use. Periods start and end at whole hours; they and
// all lists are limited. (TPL-18)
//
// It also explains the automatic stop of a workspace from its use.
package insight

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Service reports usage. It is safe for concurrent use.
type Service struct{ c Config }

// New returns a Service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c: c}
}

// Limits of queries.
const (
	maxSpan      = 400 * 24 * time.Hour
	maxTemplates = 500
	// dauDays is the number of days of daily active users.
	dauDays = 60
)

// Query is a period and the templates to report, all if there are none.
type Query struct {
	Start, End time.Time
	Templates  []uuid.UUID
	// Limit and Offset apply to lists of users.
	Limit, Offset int
}

// check rejects invalid queries and queries that the actor cannot make.
func (s *Service) check(ctx context.Context, actor access.Subject, q Query) error {
	switch {
	case q.Start.IsZero():
		return codersdk.Invalid("start_time", "is required; use a time such as 2026-11-01T00:00:00Z")
	case q.End.IsZero():
		return codersdk.Invalid("end_time", "is required; use a time such as 2026-11-08T00:00:00Z")
	case !q.Start.Equal(q.Start.Truncate(time.Minute)) || q.Start.Minute()%15 != 0 || !q.End.Equal(q.End.Truncate(time.Minute)) || q.End.Minute()%15 != 0:
		return codersdk.Invalid("start_time", "must be a whole hour in some time zone")
	case !q.Start.Before(q.End):
		return codersdk.Invalid("end_time", "must be after start_time")
	case q.End.Sub(q.Start) > maxSpan:
		return codersdk.Invalid("end_time", "must be at most %d days after start_time", int(maxSpan.Hours()/24))
	case q.Start.After(s.c.Now()):
		return codersdk.Invalid("start_time", "must not be in the future")
	}
	return s.may(ctx, actor, q.Templates)
}

// may returns an error unless the actor can read the insights of the templates, or of all if there are
// none. Templates that the actor cannot see are not found.
func (s *Service) may(ctx context.Context, actor access.Subject, templates []uuid.UUID) error {
	if len(templates) == 0 {
		if actor.Can(codersdk.RBACActionViewInsights, access.Object{Type: codersdk.RBACResourceTemplate}) {
			return nil
		}
		return codersdk.Errorf(
			codersdk.CodeForbidden,
			"You do not have permission to read the insights of all templates; set template_ids to those that you can read",
		)
	}
	if len(templates) > maxTemplates {
		return codersdk.Invalid("template_ids", "at most %d templates are allowed", maxTemplates)
	}
	rows, err := s.c.Store.InsightTemplates(ctx, templates)
	if err != nil {
		return err
	}
	known := map[uuid.UUID]access.Object{}
	for _, r := range rows {
		known[r.ID] = access.Object{Type: codersdk.RBACResourceTemplate, ID: r.ID, OrganizationID: r.OrganizationID, UserACL: r.UserACL, GroupACL: r.GroupACL}
	}
	for _, id := range templates {
		o, ok := known[id]
		if !ok {
			return codersdk.Invalid("template_ids", "template %s not found", id)
		}
		err := actor.Check(codersdk.RBACActionViewInsights, o)
		switch {
		case codersdk.Is(err, codersdk.CodeNotFound):
			return codersdk.Invalid("template_ids", "template %s not found", id)
		case err != nil:
			return err
		}
	}
	return nil
}

// DAUs returns the daily active users of the last 60 days, of the whole site or of one template. Days
// start offset hours before those of UTC.
func (s *Service) DAUs(ctx context.Context, actor access.Subject, template uuid.UUID, offset int) (codersdk.DAUsResponse, error) {
	var templates []uuid.UUID
	if template != uuid.Nil {
		templates = []uuid.UUID{template}
	}
	out := codersdk.DAUsResponse{Entries: []codersdk.DAUEntry{}, TZHourOffset: offset}
	zone, err := zone(offset)
	if err != nil {
		return out, err
	}
	if err := s.may(ctx, actor, templates); err != nil {
		if template != uuid.Nil && !codersdk.Is(err, codersdk.CodeForbidden) {
			return out, codersdk.NotFound()
		}
		return out, err
	}
	now := s.c.Now().In(zone)
	var starts, ends []time.Time
	for i := dauDays - 1; i >= 0; i-- {
		day := time.Date(now.Year(), now.Month(), now.Day()-i, 0, 0, 0, 0, zone)
		starts, ends = append(starts, day), append(ends, day.AddDate(0, 0, 1))
	}
	rows, err := s.c.Store.InsightActiveUsers(ctx, starts, ends, orEmpty(templates))
	if err != nil {
		return out, err
	}
	for i, r := range rows {
		out.Entries = append(out.Entries, codersdk.DAUEntry{Date: starts[i].Format(time.DateOnly), Amount: r.Users})
	}
	return out, nil
}

// zone returns the time zone whose days start offset hours before those of UTC.
func zone(offset int) (*time.Location, error) {
	if offset < -12 || offset > 14 {
		return nil, codersdk.Invalid("tz_offset", "must be hours from -12 to 14, got %d", offset)
	}
	return time.FixedZone("", offset*3600), nil
}

// UserActivity returns the active time of users.
func (s *Service) UserActivity(ctx context.Context, actor access.Subject, q Query) (codersdk.UserActivityInsightsResponse, error) {
	report := codersdk.UserActivityInsightsReport{StartTime: q.Start, EndTime: q.End, TemplateIDs: []uuid.UUID{}, Users: []codersdk.UserActivity{}}
	out := codersdk.UserActivityInsightsResponse{Report: report}
	if err := s.check(ctx, actor, q); err != nil {
		return out, err
	}
	rows, err := s.c.Store.InsightUserActivity(ctx, userActivity(q))
	if err != nil {
		return out, err
	}
	seen := ids{}
	for _, r := range rows {
		seen.add(r.Templates...)
		report.Users = append(
			report.Users,
			codersdk.UserActivity{UserID: r.ID, Username: r.Username, AvatarURL: r.AvatarURL, Seconds: r.Seconds, TemplateIDs: r.Templates},
		)
	}
	report.TemplateIDs = seen.list()
	out.Report = report
	return out, nil
}

// UserLatency returns the latency between users and their workspaces.
func (s *Service) UserLatency(ctx context.Context, actor access.Subject, q Query) (codersdk.UserLatencyInsightsResponse, error) {
	report := codersdk.UserLatencyInsightsReport{StartTime: q.Start, EndTime: q.End, TemplateIDs: []uuid.UUID{}, Users: []codersdk.UserLatency{}}
	out := codersdk.UserLatencyInsightsResponse{Report: report}
	if err := s.check(ctx, actor, q); err != nil {
		return out, err
	}
	rows, err := s.c.Store.InsightUserLatency(ctx, userLatency(q))
	if err != nil {
		return out, err
	}
	seen := ids{}
	for _, r := range rows {
		seen.add(r.Templates...)
		report.Users = append(report.Users, codersdk.UserLatency{
			UserID: r.ID, Username: r.Username, AvatarURL: r.AvatarURL, TemplateIDs: r.Templates, LatencyMS: codersdk.ConnectionLatency{P50: r.P50, P95: r.P95},
		})
	}
	report.TemplateIDs = seen.list()
	out.Report = report
	return out, nil
}

// statusDays is the number of days of user counts by status.
const statusDays = 60

// UserStatusCounts returns the number of users of each status at the end of each of the last 60 days,
// and now.
func (s *Service) UserStatusCounts(ctx context.Context, actor access.Subject, offset int) (codersdk.GetUserStatusCountsResponse, error) {
	out := codersdk.GetUserStatusCountsResponse{StatusCounts: map[codersdk.UserStatus][]codersdk.UserStatusChangeCount{}}
	if !actor.Can(codersdk.RBACActionRead, access.Object{Type: codersdk.RBACResourceUser}) {
		return out, codersdk.Errorf(codersdk.CodeForbidden, "You do not have permission to count all users")
	}
	zone, err := zone(offset)
	if err != nil {
		return out, err
	}
	now := s.c.Now().In(zone)
	var times []time.Time
	for i := statusDays - 1; i >= 0; i-- {
		times = append(times, time.Date(now.Year(), now.Month(), now.Day()-i, 0, 0, 0, 0, zone))
	}
	rows, err := s.c.Store.InsightStatusChanges(ctx, times)
	if err != nil {
		return out, err
	}
	for _, status := range []codersdk.UserStatus{codersdk.UserStatusActive, codersdk.UserStatusDormant, codersdk.UserStatusSuspended} {
		deltas := make([]int64, len(times)+1)
		for _, r := range rows {
			if r.Status == string(status) {
				deltas[r.N] += r.Delta
			}
		}
		// The value of the day that starts at times[i] is the count at its end: all changes
		// before times[i+1].
		count := deltas[0]
		for i, day := range times {
			count += deltas[i+1]
			out.StatusCounts[status] = append(out.StatusCounts[status], codersdk.UserStatusChangeCount{Date: day, Count: count})
		}
	}
	return out, nil
}
