package workspace

import (
	"context"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/calendar"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Limits of a workspace's time to live.
const (
	minTTL = time.Minute
	maxTTL = 365 * 24 * time.Hour
)

// NextStart returns the next autostart of a workspace after now, on a day that its
// template allows; nil for none. Dormant workspaces do not start automatically.
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

// checkAutostart checks an autostart schedule, empty or nil for none, and returns the
// value to store.
func checkAutostart(t sqlc.Template, schedule *string) (*string, error) {
	if schedule == nil || strings.TrimSpace(*schedule) == "" {
		return nil, nil
	}
	if !t.AllowUserAutostart {
		return nil, codersdk.Invalid("schedule", "template %q does not allow autostart", t.Name)
	}
	text := strings.TrimSpace(*schedule)
	if _, err := calendar.ParseWeekly(text); err != nil {
		return nil, err
	}
	return &text, nil
}

// checkTTL checks a time to live in milliseconds and returns the value to store; nil and
// 0 mean that the workspace is not stopped. Templates can enforce their own. (WS-14)
func checkTTL(t sqlc.Template, ms *int64) (*int64, error) {
	if !t.AllowUserAutostop {
		if ms != nil && *ms != t.DefaultTTLMS {
			return nil, codersdk.Invalid("ttl_ms", "template %q sets the autostop of its workspaces and does not allow changes", t.Name)
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
		return nil, codersdk.Invalid("ttl_ms", "must be between one minute (60000) and one year, or 0 for no autostop")
	}
	return ms, nil
}

func checkAutomaticUpdates(a codersdk.AutomaticUpdates) error {
	if a != codersdk.AutomaticUpdatesAlways && a != codersdk.AutomaticUpdatesNever {
		return codersdk.Invalid("automatic_updates", "%q must be always or never", a)
	}
	return nil
}

// deadlines returns the autostop deadline of a workspace whose start just finished, from
// its own time to live or that of its template, and the latest time at which it must be
// stopped; nil for none. Prebuilt workspaces have no deadline. (WS-14, WS-16)
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
