package codersdk_test

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestPrebuildsOfATemplateAreChecked(t *testing.T) {
	scheduled := func(crons ...string) codersdk.PresetPrebuilds {
		p := codersdk.PresetPrebuilds{Timezone: "Europe/Lisbon"}
		for _, c := range crons {
			p.Schedules = append(p.Schedules, codersdk.PrebuildSchedule{Cron: c, Instances: 1})
		}
		return p
	}
	for name, c := range map[string]struct {
		p    codersdk.PresetPrebuilds
		want string // part of the refusal, "" for none
	}{
		"plain":             {codersdk.PresetPrebuilds{Instances: 3, TTLSeconds: 60}, ""},
		"negative":          {codersdk.PresetPrebuilds{Instances: -1}, "from 0 to 1000"},
		"too many":          {codersdk.PresetPrebuilds{Instances: 1001}, "from 0 to 1000"},
		"negative ttl":      {codersdk.PresetPrebuilds{TTLSeconds: -1}, "or 0 for no maximum age"},
		"office hours":      {scheduled("* 8-18 * * 1-5", "* 8-14 * * 6"), ""},
		"names":             {scheduled("* 8-18 * JAN-MAR mon-fri", "* 8-18 * apr mon-fri"), ""},
		"steps":             {scheduled("* 0-22/2 * * *", "* 1/2 * * *"), ""},
		"no zone":           {codersdk.PresetPrebuilds{Schedules: []codersdk.PrebuildSchedule{{Cron: "* 8 * * *"}}}, "use a name such as Europe/Lisbon"},
		"local zone":        {codersdk.PresetPrebuilds{Timezone: "Local", Schedules: []codersdk.PrebuildSchedule{{Cron: "* 8 * * *"}}}, "not a known time zone"},
		"minutes":           {scheduled("0 8 * * *"), "first field must be *"},
		"fields":            {scheduled("* 8 * *"), "five fields"},
		"hour":              {scheduled("* 24 * * *"), "not between 0 and 23"},
		"backwards":         {scheduled("* 18-8 * * *"), "starts after its end"},
		"step":              {scheduled("* */0 * * *"), "not a step"},
		"same hours":        {scheduled("* 8-18 * * 1-5", "* 18-20 * * 5"), "overlap; change one"},
		"Sunday twice":      {scheduled("* 8 * * 7", "* 8 * * 0"), "overlap; change one"},
		"day or weekday":    {scheduled("* 8 13 * 5", "* 8 * * 5"), "overlap; change one"},
		"other months":      {scheduled("* 8 31 1 *", "* 8 31 3 *"), ""},
		"dates of no month": {scheduled("* 8 30 2 *"), "never matches"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.p.Check()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestDesiredPrebuildsFollowTheClock(t *testing.T) {
	p := codersdk.PresetPrebuilds{Instances: 1, Timezone: "America/New_York", Schedules: []codersdk.PrebuildSchedule{
		{Cron: "* 8-17 * * 1-5", Instances: 5}, {Cron: "* * * * 0", Instances: 0},
	}}
	for at, want := range map[string]int64{
		"2026-03-02T13:00:00Z": 5, // Monday, 8 in New York
		"2026-03-02T22:59:59Z": 5,
		"2026-03-02T23:00:00Z": 1,
		"2026-03-02T12:59:59Z": 1,
		"2026-03-09T12:00:00Z": 5, // summer time
		"2026-03-01T15:00:00Z": 0, // Sunday
		"2026-03-07T15:00:00Z": 1, // Saturday
	} {
		now, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Desired(now); got != want {
			t.Errorf("%s: %d, want %d", at, got, want)
		}
	}
}

func FuzzPrebuildSchedule(f *testing.F) {
	for _, s := range []string{"* 8-18 * * 1-5", "* */2 1,15 jan-mar sun", "0 0 * * *", "* 1/5 * * 7"} {
		f.Add(s, s)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		p := codersdk.PresetPrebuilds{Timezone: "UTC", Schedules: []codersdk.PrebuildSchedule{{Cron: a, Instances: 1}, {Cron: b, Instances: 2}}}
		err := p.Check()
		p.Desired(time.Unix(0, 0))
		if err == nil && a == b {
			t.Errorf("%q does not overlap itself", a)
		}
	})
}
