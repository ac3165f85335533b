package workspace

import (
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // schedules name zones that the machine may not know

	"github.com/robfig/cron/v3"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Bounds of the time after which a started workspace stops.
const (
	minTTL = time.Minute
	maxTTL = 365 * 24 * time.Hour
)

// maxSchedule bounds the text of a schedule, in bytes.
const maxSchedule = 255

// parseSchedule reads a weekly schedule such as "CRON_TZ=Europe/Lisbon 30 9 *
// * 1-5". Of cron's five fields only minute, hour and day of the week may be
// other than a star; names such as @daily are refused. Without CRON_TZ the
// zone is UTC. (WS-13)
func parseSchedule(text string) (cron.Schedule, *time.Location, error) {
	zone, fields := "UTC", strings.Fields(text)
	if len(fields) > 0 {
		if z, ok := strings.CutPrefix(fields[0], "CRON_TZ="); ok {
			zone, fields = z, fields[1:]
		}
	}
	switch {
	case len(text) > maxSchedule:
		return nil, nil, coder.Invalid("schedule", "is longer than %d characters", maxSchedule)
	case len(fields) != 5:
		return nil, nil, coder.Invalid("schedule", "%.80q must be a zone and the five fields of cron, such as CRON_TZ=Europe/Lisbon 30 9 * * 1-5", text)
	case fields[2] != "*" || fields[3] != "*":
		return nil, nil, coder.Invalid("schedule", "the day of the month and the month must be *: %.80q", text)
	}
	location, err := time.LoadLocation(zone)
	if err != nil || zone == "" || zone == "Local" {
		return nil, nil, coder.Invalid("schedule", "%.80q is not a time zone such as Europe/Lisbon", zone)
	}
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	s, err := parser.Parse("CRON_TZ=" + zone + " " + strings.Join(fields, " "))
	switch {
	case err != nil:
		return nil, nil, coder.Invalid("schedule", "%.80q is not a schedule: %s", text, err)
	case s.Next(time.Time{}).IsZero():
		return nil, nil, coder.Invalid("schedule", "%.80q names no time at all", text)
	}
	return s, location, nil
}

// nextStart gives when a schedule next starts a workspace on one of the days
// that its template allows; nil for never.
func nextStart(t sqlc.Template, text string, now time.Time) (*time.Time, error) {
	s, location, err := parseSchedule(text)
	if err != nil {
		return nil, err
	}
	at := s.Next(now.In(location)) // in the zone, whose days count
	for range 8 {                  // a week and the rest of today
		if slices.Contains(t.AutostartDays, strings.ToLower(at.Weekday().String())) {
			utc := at.UTC()
			return &utc, nil
		}
		y, m, d := at.Date()
		at = s.Next(time.Date(y, m, d+1, 0, 0, 0, 0, location).Add(-time.Second))
	}
	return nil, nil
}

// autostart checks a schedule that an owner sets, empty or nil for none, and
// gives what is stored: it and when it next starts the workspace.
func autostart(t sqlc.Template, schedule *string, now time.Time) (*string, *time.Time, error) {
	if schedule == nil || strings.TrimSpace(*schedule) == "" {
		return nil, nil, nil
	}
	if !t.AllowUserAutostart {
		return nil, nil, coder.Invalid("schedule", "template %q does not let workspaces start by schedule", t.Name)
	}
	text := strings.TrimSpace(*schedule)
	next, err := nextStart(t, text, now)
	if err != nil {
		return nil, nil, err
	}
	return &text, next, nil
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
