// Package calendar works out when things happen to workspaces by themselves:
// the weekly schedule on which one starts, the quiet hours of its owner, and
// the moment at which its template has it stop. It is arithmetic alone; every
// function takes the time from which to count.
//
// Schedules are lines of cron with a time zone in front, such as
// "CRON_TZ=Europe/Lisbon 30 9 * * 1-5". Days are those of the zone, so a
// schedule keeps its time of the day over the changes of the clock.
package calendar

import (
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // schedules name zones that the machine may not know

	"github.com/robfig/cron/v3"

	"github.com/seed-2a7f8fe7/coder"
)

// maxSchedule bounds the text of a schedule, in bytes.
const maxSchedule = 255

// Weekly is a schedule of minutes, hours and days of the week.
type Weekly struct {
	times cron.Schedule
	zone  *time.Location
}

// ParseWeekly reads a schedule such as "CRON_TZ=Europe/Lisbon 30 9 * * 1-5". Of
// cron's five fields only minute, hour and day of the week may be other than a
// star; names such as @daily are refused. Without CRON_TZ the zone is UTC.
// Errors are CodeInvalid, about the field "schedule". (WS-13)
func ParseWeekly(text string) (Weekly, error) {
	zone, fields, err := split(text)
	if err != nil {
		return Weekly{}, err
	}
	switch {
	case len(fields) != 5:
		return Weekly{}, coder.Invalid("schedule", "%.80q must be a zone and the five fields of cron, such as CRON_TZ=Europe/Lisbon 30 9 * * 1-5", text)
	case fields[2] != "*" || fields[3] != "*":
		return Weekly{}, coder.Invalid("schedule", "the day of the month and the month must be *: %.80q", text)
	}
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	times, err := parser.Parse("CRON_TZ=" + zone.String() + " " + strings.Join(fields, " "))
	switch {
	case err != nil:
		return Weekly{}, coder.Invalid("schedule", "%.80q is not a schedule: %s", text, err)
	case times.Next(time.Time{}).IsZero():
		return Weekly{}, coder.Invalid("schedule", "%.80q names no time at all", text)
	}
	return Weekly{times, zone}, nil
}

// split takes the zone off a schedule; without one it is UTC.
func split(text string) (*time.Location, []string, error) {
	if len(text) > maxSchedule {
		return nil, nil, coder.Invalid("schedule", "is longer than %d characters", maxSchedule)
	}
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return time.UTC, nil, nil
	}
	name, ok := strings.CutPrefix(fields[0], "CRON_TZ=")
	if !ok {
		return time.UTC, fields, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, nil, coder.Invalid("schedule", "%.80q is not a time zone such as Europe/Lisbon", name)
	}
	return zone, fields[1:], nil
}

// Next gives the first time of the schedule after now that falls on one of the
// days, in lower case; false for never.
func (w Weekly) Next(days []string, now time.Time) (time.Time, bool) {
	at := w.times.Next(now.In(w.zone)) // in the zone, whose days count
	for range 8 {                      // a week and the rest of today
		if slices.Contains(days, weekday(at)) {
			return at.UTC(), true
		}
		y, m, d := at.Date()
		at = w.times.Next(time.Date(y, m, d+1, 0, 0, 0, 0, w.zone).Add(-time.Second))
	}
	return time.Time{}, false
}

func weekday(t time.Time) string { return strings.ToLower(t.Weekday().String()) }
