package workspace

import (
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
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
		{"CRON_TZ=America/New_York 30 9 * * 1-5", []string{"monday"}, "2026-03-09T13:30:00Z"}, // summer time has begun
		{"*/5 * * * *", []string{"sunday"}, "2026-03-08T00:00:00Z"},
		{"0 9 * * SUN", everyDay, "2026-03-08T09:00:00Z"},
		{"0 9 * * 1", []string{"tuesday"}, ""},
		{"0 9 * * *", nil, ""},
		{"0 9 * * 5", []string{"friday"}, "2026-03-13T09:00:00Z"},
		{"CRON_TZ=Pacific/Auckland 0 9 * * *", []string{"saturday"}, "2026-03-06T20:00:00Z"}, // the day is that of the zone
	} {
		got, err := nextStart(sqlc.Template{AutostartDays: c.days}, c.schedule, friday)
		text := ""
		if got != nil {
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
		if _, _, err := parseSchedule(s); !coder.Is(err, coder.CodeInvalid) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func FuzzSchedule(f *testing.F) {
	f.Add("CRON_TZ=Europe/Lisbon 30 9 * * 1-5")
	f.Add("*/7 1,2 * * ?")
	now := time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		next, err := nextStart(sqlc.Template{AutostartDays: everyDay}, s, now)
		switch {
		case err != nil && !coder.Is(err, coder.CodeInvalid):
			t.Errorf("%q: %v", s, err)
		case err == nil && (next == nil || !next.After(now) || next.After(now.AddDate(0, 0, 8))):
			t.Errorf("%q starts next at %v", s, next)
		}
	})
}
