// Package insight is the use case of who uses what and how much: people by the
// day, templates, apps, parameters, how far people are from their workspaces.
// It reads what agents reported of sessions, summed up by the hour, and the
// whiles that apps were in use. Spans begin and end at whole hours and are
// bounded, and so are lists. (TPL-18)
package insight

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// Config is what a Service needs.
type Config struct {
	Store *postgres.Store
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Service answers. It is safe for concurrent use.
type Service struct{ c Config }

// New gives a service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{c: c}
}

// Bounds of what is asked.
const (
	maxSpan      = 400 * 24 * time.Hour
	maxTemplates = 500
	// dauDays is how many days the counts of people by the day go back.
	dauDays = 60
)

// Query is a span of time and the templates to look at, all when there are none.
type Query struct {
	Start, End time.Time
	Templates  []uuid.UUID
	// Limit and Offset are of the people that are listed.
	Limit, Offset int
}

// check refuses a query that is not one, or not the actor's to ask.
func (s *Service) check(ctx context.Context, actor access.Subject, q Query) error {
	switch {
	case q.Start.IsZero():
		return coder.Invalid("start_time", "is missing: give a time such as 2026-11-01T00:00:00Z")
	case q.End.IsZero():
		return coder.Invalid("end_time", "is missing: give a time such as 2026-11-08T00:00:00Z")
	case !q.Start.Equal(q.Start.Truncate(time.Minute)) || q.Start.Minute()%15 != 0 || !q.End.Equal(q.End.Truncate(time.Minute)) || q.End.Minute()%15 != 0:
		return coder.Invalid("start_time", "spans begin and end at whole hours of the clock somewhere")
	case !q.Start.Before(q.End):
		return coder.Invalid("end_time", "must be after start_time")
	case q.End.Sub(q.Start) > maxSpan:
		return coder.Invalid("end_time", "a span of at most %d days is looked at", int(maxSpan.Hours()/24))
	case q.Start.After(s.c.Now()):
		return coder.Invalid("start_time", "lies in the future")
	}
	return s.may(ctx, actor, q.Templates)
}

// may refuses an actor who may not see the insights of the templates, or of
// all when there are none. Templates that one may not see are not there.
func (s *Service) may(ctx context.Context, actor access.Subject, templates []uuid.UUID) error {
	if len(templates) == 0 {
		if actor.Can(coder.RBACActionViewInsights, access.Object{Type: coder.RBACResourceTemplate}) {
			return nil
		}
		return coder.Errorf(coder.CodeForbidden, "You may not see the insights of all templates: name those that you may with template_ids")
	}
	if len(templates) > maxTemplates {
		return coder.Invalid("template_ids", "at most %d templates", maxTemplates)
	}
	rows, err := s.c.Store.InsightTemplates(ctx, templates)
	if err != nil {
		return err
	}
	known := map[uuid.UUID]access.Object{}
	for _, r := range rows {
		known[r.ID] = access.Object{Type: coder.RBACResourceTemplate, ID: r.ID, OrganizationID: r.OrganizationID, UserACL: r.UserACL, GroupACL: r.GroupACL}
	}
	for _, id := range templates {
		o, ok := known[id]
		if !ok {
			return coder.Invalid("template_ids", "there is no template %s", id)
		}
		err := actor.Check(coder.RBACActionViewInsights, o)
		switch {
		case coder.Is(err, coder.CodeNotFound):
			return coder.Invalid("template_ids", "there is no template %s", id)
		case err != nil:
			return err
		}
	}
	return nil
}

// DAUs gives how many people worked on each of the last 60 days, of the whole
// site or of one template. Days begin offset hours before those of UTC.
func (s *Service) DAUs(ctx context.Context, actor access.Subject, template uuid.UUID, offset int) (coder.DAUsResponse, error) {
	var templates []uuid.UUID
	if template != uuid.Nil {
		templates = []uuid.UUID{template}
	}
	out := coder.DAUsResponse{Entries: []coder.DAUEntry{}, TZHourOffset: offset}
	zone, err := zone(offset)
	if err != nil {
		return out, err
	}
	if err := s.may(ctx, actor, templates); err != nil {
		if template != uuid.Nil && !coder.Is(err, coder.CodeForbidden) {
			return out, coder.NotFound()
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
		out.Entries = append(out.Entries, coder.DAUEntry{Date: starts[i].Format(time.DateOnly), Amount: r.Users})
	}
	return out, nil
}

// zone is the one whose days begin offset hours before those of UTC.
func zone(offset int) (*time.Location, error) {
	if offset < -12 || offset > 14 {
		return nil, coder.Invalid("tz_offset", "must be hours from -12 to 14, got %d", offset)
	}
	return time.FixedZone("", offset*3600), nil
}

// UserActivity gives how long people worked.
func (s *Service) UserActivity(ctx context.Context, actor access.Subject, q Query) (coder.UserActivityInsightsResponse, error) {
	report := coder.UserActivityInsightsReport{StartTime: q.Start, EndTime: q.End, TemplateIDs: []uuid.UUID{}, Users: []coder.UserActivity{}}
	out := coder.UserActivityInsightsResponse{Report: report}
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
		report.Users = append(report.Users, coder.UserActivity{UserID: r.ID, Username: r.Username, AvatarURL: r.AvatarURL, Seconds: r.Seconds, TemplateIDs: r.Templates})
	}
	report.TemplateIDs = seen.list()
	out.Report = report
	return out, nil
}

// UserLatency gives how far people are from their workspaces.
func (s *Service) UserLatency(ctx context.Context, actor access.Subject, q Query) (coder.UserLatencyInsightsResponse, error) {
	report := coder.UserLatencyInsightsReport{StartTime: q.Start, EndTime: q.End, TemplateIDs: []uuid.UUID{}, Users: []coder.UserLatency{}}
	out := coder.UserLatencyInsightsResponse{Report: report}
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
		report.Users = append(report.Users, coder.UserLatency{
			UserID: r.ID, Username: r.Username, AvatarURL: r.AvatarURL, TemplateIDs: r.Templates, LatencyMS: coder.ConnectionLatency{P50: r.P50, P95: r.P95},
		})
	}
	report.TemplateIDs = seen.list()
	out.Report = report
	return out, nil
}

// statusDays is how many days the counts of users by status go back.
const statusDays = 60

// UserStatusCounts gives how many users of each status there were at the end
// of each of the last 60 days, and now.
func (s *Service) UserStatusCounts(ctx context.Context, actor access.Subject, offset int) (coder.GetUserStatusCountsResponse, error) {
	out := coder.GetUserStatusCountsResponse{StatusCounts: map[coder.UserStatus][]coder.UserStatusChangeCount{}}
	if !actor.Can(coder.RBACActionRead, access.Object{Type: coder.RBACResourceUser}) {
		return out, coder.Errorf(coder.CodeForbidden, "You may not count all users")
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
	for _, status := range []coder.UserStatus{coder.UserStatusActive, coder.UserStatusDormant, coder.UserStatusSuspended} {
		deltas := make([]int64, len(times)+1)
		for _, r := range rows {
			if r.Status == string(status) {
				deltas[r.N] += r.Delta
			}
		}
		// Of the day that begins at times[i] the count at its end is asked for,
		// which is all that changed before times[i+1].
		count := deltas[0]
		for i, day := range times {
			count += deltas[i+1]
			out.StatusCounts[status] = append(out.StatusCounts[status], coder.UserStatusChangeCount{Date: day, Count: count})
		}
	}
	return out, nil
}
