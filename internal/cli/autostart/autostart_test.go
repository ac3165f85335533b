package autostart

import "testing"

func TestCron(t *testing.T) {
	lisbon := map[string]string{"TZ": "Europe/Lisbon"}
	for text, want := range map[string]string{
		"9:30AM Mon-Fri Europe/Lisbon": "CRON_TZ=Europe/Lisbon 30 9 * * 1-5",
		"09:30":                        "CRON_TZ=Europe/Lisbon 30 9 * * *",
		"5pm":                          "CRON_TZ=Europe/Lisbon 0 17 * * *",
		"12:00AM Sun":                  "CRON_TZ=Europe/Lisbon 0 0 * * 0",
		"8:05am mon,wed-fri UTC":       "CRON_TZ=UTC 5 8 * * 1,3-5",
		"7AM America/New_York":         "CRON_TZ=America/New_York 0 7 * * *",
		"7AM Fri-Mon":                  "CRON_TZ=Europe/Lisbon 0 7 * * 5,6,0,1",
		"7AM *":                        "CRON_TZ=Europe/Lisbon 0 7 * * *",
	} {
		if got, err := Cron(text, lisbon); err != nil || got != want {
			t.Errorf("%q is %q, %v, want %q", text, got, err, want)
		}
	}
	for _, text := range []string{"", "25:00", "9:30AM Funday", "9:30AM Mon Tue", "9AM Mars/Olympus", "9AM Mon UTC extra", "@daily", "13PM", "9AM 8"} {
		if got, err := Cron(text, lisbon); err == nil {
			t.Errorf("%q is taken for %q", text, got)
		}
	}
}

func TestText(t *testing.T) {
	for cron, want := range map[string]string{
		"CRON_TZ=Europe/Lisbon 30 9 * * 1-5": "9:30AM Mon-Fri (Europe/Lisbon)",
		"0 17 * * *":                         "5:00PM",
		"CRON_TZ=UTC 0 0 * * 0,6":            "12:00AM Sun,Sat (UTC)",
		"*/5 * * * *":                        "*/5 * * * *",
		"nonsense":                           "nonsense",
	} {
		if got := Text(cron); got != want {
			t.Errorf("%q reads %q, want %q", cron, got, want)
		}
	}
}
