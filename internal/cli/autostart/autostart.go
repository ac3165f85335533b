// Package autostart converts between the schedules that users write, such as
// "9:30AM Mon-Fri Europe/Lisbon", and the cron expressions that the server
// stores.
package autostart

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Cron converts "<time> [days] [zone]", such as "9:30AM Mon-Fri Europe/Lisbon",
// to a cron expression. Days default to every day, and the zone to that of this
// machine.
func Cron(s string, env map[string]string) (string, error) {
	fields := strings.Fields(s)
	if len(fields) == 0 || len(fields) > 3 {
		return "", codersdk.Errorf(codersdk.CodeInvalid, "%q is not a schedule; use <time> [days] [zone], such as 9:30AM Mon-Fri Europe/Lisbon", s)
	}
	at, err := clock(fields[0])
	if err != nil {
		return "", err
	}
	days, zone := "*", ""
	for _, f := range fields[1:] {
		if d, ok := weekdays(f); ok && days == "*" {
			days = d
			continue
		}
		if _, err := time.LoadLocation(f); err != nil || zone != "" {
			return "", codersdk.Errorf(codersdk.CodeInvalid, "%q is neither a list of days, such as Mon-Fri or Sun,Sat, nor a time zone, such as Europe/Lisbon", f)
		}
		zone = f
	}
	if zone == "" {
		zone = zoneOf(env)
	}
	return fmt.Sprintf("CRON_TZ=%s %d %d * * %s", zone, at.Minute(), at.Hour(), days), nil
}

// clock parses a time of day.
func clock(s string) (time.Time, error) {
	for _, layout := range []string{"15:04", "3:04PM", "3PM", "15h04"} {
		if t, err := time.Parse(layout, strings.ToUpper(s)); err == nil {
			return t, nil
		}
	}
	return time.Time{}, codersdk.Errorf(codersdk.CodeInvalid, "%q is not a time of day; use for example 9:30AM or 09:30", s)
}

// weekdays parses days into the form of cron: Mon-Fri, Sun,Tue, 1-5 or *.
func weekdays(s string) (string, bool) {
	if s == "*" {
		return s, true
	}
	var out []string
	for _, part := range strings.Split(s, ",") {
		from, to, isRange := strings.Cut(part, "-")
		a, ok := weekday(from)
		if !ok {
			return "", false
		}
		if !isRange {
			out = append(out, strconv.Itoa(a))
			continue
		}
		b, ok := weekday(to)
		if !ok {
			return "", false
		}
		if b < a { // range across the end of the week, such as Fri-Mon
			for d := a; d <= b+7; d++ {
				out = append(out, strconv.Itoa(d%7))
			}
			continue
		}
		out = append(out, fmt.Sprintf("%d-%d", a, b))
	}
	return strings.Join(out, ","), true
}

func weekday(s string) (int, bool) {
	if n, err := strconv.Atoi(s); err == nil {
		return n, n >= 0 && n <= 6
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if name := d.String(); len(s) >= 3 && len(s) <= len(name) && strings.EqualFold(name[:len(s)], s) {
			return int(d), true
		}
	}
	return 0, false
}

// zoneOf returns the name of this machine's time zone, or UTC.
func zoneOf(env map[string]string) string {
	if tz := strings.TrimPrefix(env["TZ"], ":"); tz != "" {
		if _, err := time.LoadLocation(tz); err == nil {
			return tz
		}
	}
	if target, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
			return name
		}
	}
	if b, err := os.ReadFile("/etc/timezone"); err == nil {
		name := strings.TrimSpace(string(b))
		if _, err := time.LoadLocation(name); err == nil && name != "" {
			return name
		}
	}
	return "UTC"
}

// Text converts a cron expression to the form that Cron accepts. It returns
// other expressions unchanged.
func Text(cron string) string {
	fields := strings.Fields(cron)
	zone := ""
	if len(fields) == 6 {
		zone = strings.TrimPrefix(strings.TrimPrefix(fields[0], "CRON_TZ="), "TZ=")
		fields = fields[1:]
	}
	if len(fields) != 5 {
		return cron
	}
	minute, err1 := strconv.Atoi(fields[0])
	hour, err2 := strconv.Atoi(fields[1])
	if err1 != nil || err2 != nil {
		return cron
	}
	text := time.Date(2000, 1, 1, hour, minute, 0, 0, time.UTC).Format("3:04PM")
	if fields[4] != "*" {
		text += " " + dayNames(fields[4])
	}
	if zone != "" {
		text += " (" + zone + ")"
	}
	return text
}

// dayNames replaces the numbers of days by their names.
func dayNames(days string) string {
	var b strings.Builder
	for _, r := range days {
		if r >= '0' && r <= '7' {
			b.WriteString(time.Weekday((r - '0') % 7).String()[:3])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
