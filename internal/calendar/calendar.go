// Package calendar computes the automatic events of workspaces: the weekly
// autostart, the owner's quiet hours, and the time at which a template requires
// a stop. It is pure arithmetic; every function takes the current time as an
// argument.
//
// Schedules are cron lines with a time zone in front, such as
// "CRON_TZ=Europe/Lisbon 30 9 * * 1-5". Days are those of the zone, so a
// schedule keeps its time of day across daylight saving changes.
package calendar

import (
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // the machine may lack time zone data

	"github.com/robfig/cron/v3"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// maxSchedule bounds the text of a schedule, in bytes.
const maxSchedule = 255

// Weekly is a schedule with minutes, hours and days of the week.
type Weekly struct {
	times cron.Schedule
	zone  *time.Location
}

// ParseWeekly parses a schedule such as "CRON_TZ=Europe/Lisbon 30 9 * * 1-5".
// Of the five cron fields, only minute, hour and day of the week may differ
// from a star. Names such as @daily are refused. Without CRON_TZ the zone is
// UTC. Errors are CodeInvalid for the field "schedule". (WS-13)
func ParseWeekly(text string) (Weekly, error) {
	zone, fields, err := split(text)
	if err != nil {
		return Weekly{}, err
	}
	switch {
	case len(fields) != 5:
		return Weekly{}, codersdk.Invalid("schedule", "%.80q must be a time zone and five cron fields, such as CRON_TZ=Europe/Lisbon 30 9 * * 1-5", text)
	case fields[2] != "*" || fields[3] != "*":
		return Weekly{}, codersdk.Invalid("schedule", "the day of the month and the month must be *: %.80q", text)
	}
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	times, err := parser.Parse("CRON_TZ=" + zone.String() + " " + strings.Join(fields, " "))
	switch {
	case err != nil:
		return Weekly{}, codersdk.Invalid("schedule", "%.80q is not a schedule: %s", text, err)
	case times.Next(time.Time{}).IsZero():
		return Weekly{}, codersdk.Invalid("schedule", "%.80q never occurs", text)
	}
	return Weekly{times, zone}, nil
}

// split separates the zone from a schedule; without one it is UTC.
func split(text string) (*time.Location, []string, error) {
	if len(text) > maxSchedule {
		return nil, nil, codersdk.Invalid("schedule", "is longer than %d bytes", maxSchedule)
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
		return nil, nil, codersdk.Invalid("schedule", "%.80q is not a time zone such as Europe/Lisbon", name)
	}
	return zone, fields[1:], nil
}

// Next returns the first time of the schedule after now on one of the days,
// given in lower case; false means never.
func (w Weekly) Next(days []string, now time.Time) (time.Time, bool) {
	at := w.times.Next(now.In(w.zone)) // days are those of the zone
	for range 8 {                      // the rest of today, and a week
		if slices.Contains(days, weekday(at)) {
			return at.UTC(), true
		}
		y, m, d := at.Date()
		at = w.times.Next(time.Date(y, m, d+1, 0, 0, 0, 0, w.zone).Add(-time.Second))
	}
	return time.Time{}, false
}

func weekday(t time.Time) string { return strings.ToLower(t.Weekday().String()) }
