package calendar

import (
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

var everyDay = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

func TestNextStart(t *testing.T) {
	friday := time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		schedule string
		days     []string
		want     string // empty: never
	}{
		{"30 13 * * *", everyDay, "2026-03-06T13:30:00Z"},
		{"30 9 * * *", everyDay, "2026-03-07T09:30:00Z"},
		{"CRON_TZ=America/New_York 30 9 * * 1-5", everyDay, "2026-03-06T14:30:00Z"},
		{"CRON_TZ=America/New_York 30 9 * * 1-5", []string{"monday"}, "2026-03-09T13:30:00Z"}, // daylight saving time has started
		{"*/5 * * * *", []string{"sunday"}, "2026-03-08T00:00:00Z"},
		{"0 9 * * SUN", everyDay, "2026-03-08T09:00:00Z"},
		{"0 9 * * 1", []string{"tuesday"}, ""},
		{"0 9 * * *", nil, ""},
		{"0 9 * * 5", []string{"friday"}, "2026-03-13T09:00:00Z"},
		{"CRON_TZ=Pacific/Auckland 0 9 * * *", []string{"saturday"}, "2026-03-06T20:00:00Z"}, // the day is that of the zone
	} {
		w, err := ParseWeekly(c.schedule)
		text := ""
		if got, ok := w.Next(c.days, friday); err == nil && ok {
			text = got.Format(time.RFC3339)
		}
		if err != nil || text != c.want {
			t.Errorf("%s on %v: %q (%v), want %q", c.schedule, c.days, text, err, c.want)
		}
	}
}

func TestBadSchedules(t *testing.T) {
	for _, s := range []string{
		"", "@daily", "@every 1h", "9 * * *", "0 9 1 * *", "0 9 * 1 *", "60 9 * * *", "0 24 * * *", "0 9 * * 8", "x 9 * * *",
		"CRON_TZ=Mars/Olympus 0 9 * * *", "CRON_TZ= 0 9 * * *", "CRON_TZ=Local 0 9 * * *", "TZ=UTC 0 9 * * *", "0 9 * * * *", "0 0 9 * * 1", "0 0 * * ,",
	} {
		if _, err := ParseWeekly(s); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestBadQuietHours(t *testing.T) {
	for _, s := range []string{"", "@daily", "0 0 * * 1", "*/5 0 * * *", "0 24 * * *", "60 0 * * *", "0 0 ** * *", "CRON_TZ=Mars/Olympus 0 0 * * *", "CRON_TZ=UTC 0 -1 * * *"} {
		if _, err := ParseDaily(s); !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func FuzzSchedule(f *testing.F) {
	f.Add("CRON_TZ=Europe/Lisbon 30 9 * * 1-5")
	f.Add("*/7 1,2 * * ?")
	now := time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		if w, err := ParseWeekly(s); err != nil && !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%q: %v", s, err)
		} else if err == nil {
			if next, ok := w.Next(everyDay, now); !ok || !next.After(now) || next.After(now.AddDate(0, 0, 8)) {
				t.Errorf("%q starts next at %v", s, next)
			}
		}
		if d, err := ParseDaily(s); err != nil && !codersdk.Is(err, codersdk.CodeInvalid) {
			t.Errorf("%q: %v", s, err)
		} else if err == nil {
			next := d.Next(now)
			must, ok := Requirement{Days: everyDay}.After(now, d)
			if !next.After(now) || next.Sub(now) > 25*time.Hour || !ok || must.Before(now.Add(settled)) || must.Sub(now) > 26*time.Hour+settled {
				t.Errorf("%q begins next at %v and has workspaces stop at %v", s, next, must)
			}
		}
	})
}

func TestQuiet(t *testing.T) {
	for _, c := range []struct {
		quiet  Quiet
		own    string
		want   string
		chosen bool
	}{
		{Quiet{}, "", usualQuietHours, false},
		{Quiet{}, "1 2 * * *", "1 2 * * *", true},
		{Quiet{Fixed: true}, "1 2 * * *", usualQuietHours, false},
		{Quiet{Default: "3 4 * * *"}, "", "3 4 * * *", false},
		{Quiet{Default: "3 4 * * *", Fixed: true}, "1 2 * * *", "3 4 * * *", false},
	} {
		if got, chosen := c.quiet.Of(c.own); got != c.want || chosen != c.chosen {
			t.Errorf("%+v of %q: %q, %v", c.quiet, c.own, got, chosen)
		}
	}
}

// TestRequirement: 2 January 2023 began week 0, so 5 January 2026 begins week
// 157, 12 January week 158.
func TestRequirement(t *testing.T) {
	for _, c := range []struct {
		what  string
		now   string
		quiet string
		days  []string
		weeks int64
		want  string // empty: never
	}{
		{"no day", "2026-01-07T12:00:00Z", "0 0 * * *", nil, 1, ""},
		{"daily", "2026-01-07T12:00:00Z", "0 0 * * *", everyDay, 1, "2026-01-08T00:00:00Z"},
		{"daily, later today", "2026-01-07T12:00:00Z", "30 22 * * *", everyDay, 1, "2026-01-07T22:30:00Z"},
		{"weeks left out", "2026-01-07T12:00:00Z", "0 0 * * *", everyDay, 0, "2026-01-08T00:00:00Z"},
		{"an hour ahead", "2026-01-07T23:00:00Z", "0 0 * * *", everyDay, 1, "2026-01-08T00:00:00Z"},
		{"less than an hour ahead", "2026-01-07T23:00:01Z", "0 0 * * *", everyDay, 1, "2026-01-09T00:00:00Z"},
		{"in the quiet hours", "2026-01-07T00:30:00Z", "0 0 * * *", everyDay, 1, "2026-01-08T00:00:00Z"},
		{"on Sundays", "2026-01-07T12:00:00Z", "0 0 * * *", []string{"sunday"}, 1, "2026-01-11T00:00:00Z"},
		{"on two days", "2026-01-07T12:00:00Z", "0 0 * * *", []string{"tuesday", "saturday"}, 1, "2026-01-10T00:00:00Z"},
		{"every second week, not in this", "2026-01-07T12:00:00Z", "0 0 * * *", []string{"thursday"}, 2, "2026-01-15T00:00:00Z"},
		{"every second week, in this", "2026-01-13T12:00:00Z", "0 0 * * *", []string{"thursday"}, 2, "2026-01-15T00:00:00Z"},
		{"a Sunday is of the week before Monday", "2026-01-05T12:00:00Z", "0 0 * * *", []string{"sunday"}, 2, "2026-01-18T00:00:00Z"},
		{"just missed, so in two weeks", "2026-01-18T00:30:00Z", "0 0 * * *", []string{"sunday"}, 2, "2026-02-01T00:00:00Z"},
		{"every sixteenth week", "2026-01-07T12:00:00Z", "0 0 * * *", []string{"monday"}, 16, "2026-01-26T00:00:00Z"}, // week 160
		{"every sixteenth week, just missed", "2026-01-26T00:30:00Z", "0 0 * * *", []string{"monday"}, 16, "2026-05-18T00:00:00Z"},
		{"the day is that of the zone", "2026-01-07T12:00:00Z", "CRON_TZ=Pacific/Auckland 0 1 * * *", []string{"friday"}, 1, "2026-01-08T12:00:00Z"},
		{"the week is that of the zone", "2026-01-11T09:00:00Z", "CRON_TZ=Pacific/Auckland 0 1 * * *", []string{"monday"}, 2, "2026-01-11T12:00:00Z"},
		{"winter", "2026-03-27T12:00:00Z", "CRON_TZ=Europe/Lisbon 0 22 * * *", everyDay, 1, "2026-03-27T22:00:00Z"},
		{"summer time began", "2026-03-29T12:00:00Z", "CRON_TZ=Europe/Lisbon 0 22 * * *", everyDay, 1, "2026-03-29T21:00:00Z"},
		{"summer time ended", "2026-10-25T12:00:00Z", "CRON_TZ=Europe/Lisbon 0 22 * * *", everyDay, 1, "2026-10-25T22:00:00Z"},
		{"every second week over the change", "2026-03-23T12:00:00Z", "CRON_TZ=Europe/Berlin 0 0 * * *", []string{"monday"}, 2, "2026-04-05T22:00:00Z"},
		{"before the count begins", "2022-12-20T12:00:00Z", "0 0 * * *", []string{"sunday"}, 2, "2022-12-25T00:00:00Z"}, // week -2
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		quiet, err := ParseDaily(c.quiet)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		if at, ok := (Requirement{Days: c.days, Weeks: c.weeks}).After(now, quiet); ok {
			text = at.Format(time.RFC3339)
		}
		if text != c.want {
			t.Errorf("%s: %q, want %q", c.what, text, c.want)
		}
	}
}

// TestClockChanges: a time that the clock skips, or has twice, comes once a day.
func TestClockChanges(t *testing.T) {
	for zone, at := range map[string]time.Time{
		"CRON_TZ=America/New_York 30 2 * * *": time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC),
		"CRON_TZ=America/New_York 30 1 * * *": time.Date(2026, 10, 30, 12, 0, 0, 0, time.UTC),
	} {
		d, err := ParseDaily(zone)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			next := d.Next(at)
			if gap := next.Sub(at); gap <= 0 || gap > 25*time.Hour {
				t.Errorf("%s: %v after %v", zone, next, at)
			}
			if y1, y2 := at.In(d.Zone).YearDay(), next.In(d.Zone).YearDay(); at.Hour() != 12 && y2 != y1+1 {
				t.Errorf("%s: day %d after day %d", zone, y2, y1)
			}
			at = next
		}
	}
}
