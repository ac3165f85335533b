package calendar

import (
	"slices"
	"strconv"
	"time"

	"github.com/seed-2a7f8fe7/coder"
)

// usualQuietHours is when workspaces may be stopped where nobody says otherwise.
const usualQuietHours = "CRON_TZ=UTC 0 0 * * *"

// Daily is a time of every day.
type Daily struct {
	Hour, Minute int
	Zone         *time.Location
}

// ParseDaily reads "CRON_TZ=Europe/Lisbon 30 22 * * *"; without a zone it is
// UTC. Errors are CodeInvalid, about the field "schedule". (WS-16)
func ParseDaily(text string) (Daily, error) {
	zone, fields, err := split(text)
	if err != nil {
		return Daily{}, err
	}
	if len(fields) != 5 || fields[2] != "*" || fields[3] != "*" || fields[4] != "*" {
		return Daily{}, coder.Invalid("schedule", "%.80q must be a zone, a minute, an hour and three stars, such as CRON_TZ=Europe/Lisbon 30 22 * * *", text)
	}
	d := Daily{Zone: zone}
	var err1, err2 error
	d.Minute, err1 = strconv.Atoi(fields[0])
	d.Hour, err2 = strconv.Atoi(fields[1])
	if err1 != nil || err2 != nil || d.Minute < 0 || d.Minute > 59 || d.Hour < 0 || d.Hour > 23 {
		return Daily{}, coder.Invalid("schedule", "%.80q must name one minute from 0 to 59 and one hour from 0 to 23", text)
	}
	return d, nil
}

// on is that time, days after the date of t in the zone. Where the clock skips
// it, it is an hour off.
func (d Daily) on(t time.Time, days int) time.Time {
	y, m, day := t.In(d.Zone).Date()
	return time.Date(y, m, day+days, d.Hour, d.Minute, 0, 0, d.Zone)
}

// Next gives the first such time after now.
func (d Daily) Next(now time.Time) time.Time {
	for i := 0; ; i++ {
		if t := d.on(now, i); t.After(now) {
			return t
		}
	}
}

// Quiet is what a deployment says of quiet hours. The zero value has them begin
// at midnight UTC and lets people choose others.
type Quiet struct {
	Default string // a daily schedule; empty: midnight UTC
	Fixed   bool   // people cannot choose
}

// Of gives the schedule of the quiet hours of somebody who chose own, empty
// for nothing, and whether they are their own.
func (q Quiet) Of(own string) (schedule string, chosen bool) {
	switch {
	case own != "" && !q.Fixed:
		return own, true
	case q.Default != "":
		return q.Default, false
	}
	return usualQuietHours, false
}

// Requirement is when a template has its workspaces stop, whoever works in
// them: at the beginning of the owner's quiet hours of the days, in lower case,
// in every so many weeks, at least 1. Weeks are those from Monday on, counted
// from 2 January 2023, so they are in step for all workspaces. (WS-16)
type Requirement struct {
	Days  []string
	Weeks int64
}

// settled is how long a workspace may run at least before it has to stop: one
// that was built just before the quiet hours is up to date, and in use.
const settled = time.Hour

// After gives the first moment at which a workspace that starts now has to
// stop, at least an hour ahead; false for never.
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

// week counts the weeks from Monday, 2 January 2023, to that of t in its zone.
func week(t time.Time) int64 {
	y, m, d := t.Date()
	days := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Sub(time.Date(2023, 1, 2, 0, 0, 0, 0, time.UTC)) / (24 * time.Hour)
	if days < 0 {
		days -= 6 // round down
	}
	return int64(days / 7)
}
