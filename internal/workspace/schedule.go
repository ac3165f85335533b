package workspace

import (
	"context"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/calendar"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Bounds of the time after which a started workspace stops.
const (
	minTTL = time.Minute
	maxTTL = 365 * 24 * time.Hour
)

// NextStart gives when the schedule of a workspace next starts it after now, on
// one of the days that its template allows; nil for never. A dormant one does
// not start by itself.
func NextStart(t sqlc.Template, w sqlc.Workspace, now time.Time) *time.Time {
	if w.AutostartSchedule == nil || w.DormantAt != nil || w.DeletedAt != nil || !t.AllowUserAutostart {
		return nil
	}
	weekly, err := calendar.ParseWeekly(*w.AutostartSchedule)
	if err != nil {
		return nil // it was checked when it was set
	}
	if at, ok := weekly.Next(t.AutostartDays, now); ok {
		return &at
	}
	return nil
}

// checkAutostart checks a schedule that an owner sets, empty or nil for none,
// and gives what is stored.
func checkAutostart(t sqlc.Template, schedule *string) (*string, error) {
	if schedule == nil || strings.TrimSpace(*schedule) == "" {
		return nil, nil
	}
	if !t.AllowUserAutostart {
		return nil, coder.Invalid("schedule", "template %q does not let workspaces start by schedule", t.Name)
	}
	text := strings.TrimSpace(*schedule)
	if _, err := calendar.ParseWeekly(text); err != nil {
		return nil, err
	}
	return &text, nil
}

// checkTTL checks the time, in milliseconds, after which a started workspace
// stops, and gives what is stored; nil and 0 mean never. A template may
// insist on its own. (WS-14)
func checkTTL(t sqlc.Template, ms *int64) (*int64, error) {
	if !t.AllowUserAutostop {
		if ms != nil && *ms != t.DefaultTTLMS {
			return nil, coder.Invalid("ttl_ms", "template %q sets the time after which its workspaces stop, and does not let it be changed", t.Name)
		}
		if t.DefaultTTLMS > 0 {
			return &t.DefaultTTLMS, nil
		}
		return nil, nil
	}
	if ms == nil || *ms == 0 {
		return nil, nil
	}
	if *ms < minTTL.Milliseconds() || *ms > maxTTL.Milliseconds() {
		return nil, coder.Invalid("ttl_ms", "must be between a minute (60000) and a year, or 0 to never stop")
	}
	return ms, nil
}

func checkAutomaticUpdates(a coder.AutomaticUpdates) error {
	if a != coder.AutomaticUpdatesAlways && a != coder.AutomaticUpdatesNever {
		return coder.Invalid("automatic_updates", "%q must be always or never", a)
	}
	return nil
}

// deadlines gives when a workspace whose start has just ended stops: after the
// time that its owner set, or its template where that insists; and when it has
// to, nil for never. What belongs to no person runs on. (WS-14, WS-16)
func (s *Service) deadlines(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, now time.Time) (deadline, latest *time.Time, err error) {
	owner, err := q.ScheduleOwner(ctx, w.OwnerID)
	if err != nil || owner.IsSystem {
		return nil, nil, err
	}
	t, err := q.WorkspaceTemplate(ctx, w.TemplateID)
	if err != nil {
		return nil, nil, err
	}
	ms := t.DefaultTTLMS
	if t.AllowUserAutostop {
		ms = 0
		if w.TTLMS != nil {
			ms = *w.TTLMS
		}
	}
	if ms > 0 {
		at := now.Add(time.Duration(ms) * time.Millisecond)
		deadline = &at
	}
	if len(t.AutostopDays) == 0 {
		return deadline, nil, nil
	}
	schedule, _ := s.Quiet.Of(owner.QuietHours)
	quiet, err := calendar.ParseDaily(schedule)
	if err != nil { // it was checked when it was set
		return nil, nil, err
	}
	if at, ok := (calendar.Requirement{Days: t.AutostopDays, Weeks: t.AutostopWeeks}).After(now, quiet); ok {
		latest = &at
		if deadline == nil || deadline.After(at) {
			deadline = &at
		}
	}
	return deadline, latest, nil
}
