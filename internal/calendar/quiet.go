package calendar

import (
	"slices"
	"strconv"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// usualQuietHours is the default start of quiet hours.
const usualQuietHours = "CRON_TZ=UTC 0 0 * * *"

// Daily is a time of day in a zone.
type Daily struct {
	Hour, Minute int
	Zone         *time.Location
}

// ParseDaily parses a schedule such as "CRON_TZ=Europe/Lisbon 30 22 * * *";
// without a zone it is UTC. Errors are CodeInvalid for the field "schedule".
// (WS-16)
func ParseDaily(text string) (Daily, error) {
	zone, fields, err := split(text)
	if err != nil {
		return Daily{}, err
	}
	if len(fields) != 5 || fields[2] != "*" || fields[3] != "*" || fields[4] != "*" {
		return Daily{}, codersdk.Invalid("schedule", "%.80q must be a time zone, a minute, an hour and three stars, such as CRON_TZ=Europe/Lisbon 30 22 * * *", text)
	}
	d := Daily{Zone: zone}
	var err1, err2 error
	d.Minute, err1 = strconv.Atoi(fields[0])
	d.Hour, err2 = strconv.Atoi(fields[1])
	if err1 != nil || err2 != nil || d.Minute < 0 || d.Minute > 59 || d.Hour < 0 || d.Hour > 23 {
		return Daily{}, codersdk.Invalid("schedule", "%.80q must name one minute from 0 to 59 and one hour from 0 to 23", text)
	}
	return d, nil
}

// on returns the time of day on the day of t in the zone, plus days. A time
// that a clock change skips is off by an hour.
func (d Daily) on(t time.Time, days int) time.Time {
	y, m, day := t.In(d.Zone).Date()
	return time.Date(y, m, day+days, d.Hour, d.Minute, 0, 0, d.Zone)
}

// Next returns the first occurrence after now.
func (d Daily) Next(now time.Time) time.Time {
	for i := 0; ; i++ {
		if t := d.on(now, i); t.After(now) {
			return t
		}
	}
}

// Quiet is the deployment's setting of quiet hours. In the zero value they
// start at midnight UTC and users may choose others.
type Quiet struct {
	Default string // a daily schedule; empty means midnight UTC
	Fixed   bool   // users cannot choose
}

// Of returns the quiet hours of a user who chose own, empty for the default,
// and whether they are the user's own.
func (q Quiet) Of(own string) (schedule string, chosen bool) {
	switch {
	case own != "" && !q.Fixed:
		return own, true
	case q.Default != "":
		return q.Default, false
	}
	return usualQuietHours, false
}

// Requirement is when a template requires its workspaces to stop, even in use:
// at the start of the owner's quiet hours on the days, given in lower case,
// every given number of weeks, at least 1. Weeks start on Monday and are
// counted from 2 January 2023, so that they are the same for all workspaces.
// (WS-16)
type Requirement struct {
	Days  []string
	Weeks int64
}

// settled is the minimum time that a workspace runs before a required stop: one
// that was built just before the quiet hours is up to date, and in use.
const settled = time.Hour

// After returns the first time at which a workspace that starts now must stop,
// at least an hour ahead; false means never.
func (r Requirement) After(now time.Time, quiet Daily) (time.Time, bool) {
	weeks := max(r.Weeks, 1)
	for i := range 7 * int(weeks+2) {
		at := quiet.on(now, i)
		if week(at)%weeks == 0 && slices.Contains(r.Days, weekday(at)) && !at.Before(now.Add(settled)) {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// week returns the number of weeks from Monday, 2 January 2023, to the week of
// t in its zone.
func week(t time.Time) int64 {
	y, m, d := t.Date()
	days := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Sub(time.Date(2023, 1, 2, 0, 0, 0, 0, time.UTC)) / (24 * time.Hour)
	if days < 0 {
		days -= 6 // round down
	}
	return int64(days / 7)
}
