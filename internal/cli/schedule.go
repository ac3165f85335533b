package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
)

func (a *app) scheduleCommand() *command {
	return &command{
		name: "schedule", args: "{ show | start | stop | extend } <workspace>", rawUsage: true,
		short: "Say when a workspace starts and stops by itself.",
		subs:  []*command{a.scheduleShowCommand(), a.scheduleStartCommand(), a.scheduleStopCommand(), a.scheduleExtendCommand()},
	}
}

func (a *app) scheduleShowCommand() *command {
	type row = coder.Workspace
	var columns []column[row]
	for _, c := range a.workspaceColumns() {
		switch c.name {
		case "workspace", "starts at", "starts next", "stops after", "stops next":
			columns = append(columns, c)
		}
	}
	l := &listing[row]{all: columns, noMatch: "No workspaces."}
	var all bool
	var search string
	searchOption := str(&search, "search", "Only those that this search finds.").def("owner:me")
	return &command{
		name: "show", args: "<workspace | --search <query> | --all>", max: 1,
		short: "Show when workspaces start and stop by themselves.",
		options: []*option{
			boolean(&all, "all", "Those of everybody that you may see.").short("a"), searchOption,
			l.columnOption("workspace,starts at,starts next,stops after,stops next"), l.formatOption(),
		},
		complete: a.workspaceNames,
		run: func(ctx context.Context, args []string) error {
			c, err := a.client(ctx)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				w, _, err := a.workspace(ctx, c, args[0])
				if err != nil {
					return err
				}
				return l.write(a, []row{w})
			}
			if all && !searchOption.isSet() {
				search = ""
			}
			rows, err := allWorkspaces(ctx, c, search)
			if err != nil {
				return err
			}
			return l.write(a, rows)
		},
	}
}

func (a *app) scheduleStartCommand() *command {
	return a.simple(command{
		name: "start", args: "<workspace-name> { <start-time> [day-of-week] [location] | manual }", min: 2, max: 4,
		short: "Start a workspace by itself at a time of the day.",
		examples: []example{
			{"On working days", "coder schedule start dev 9:30AM Mon-Fri Europe/Lisbon"},
			{"Never", "coder schedule start dev manual"},
		},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, args []string) error {
		var cron *string
		if args[0] != "manual" {
			s, err := a.cronOf(strings.Join(args, " "))
			if err != nil {
				return err
			}
			cron = &s
		}
		if err := c.UpdateWorkspaceAutostart(ctx, w.ID, coder.UpdateWorkspaceAutostartRequest{Schedule: cron}); err != nil {
			return err
		}
		if cron == nil {
			_, err := fmt.Fprintf(a.stdout, "%s is started by hand only.\n", w.Name)
			return err
		}
		_, err := fmt.Fprintf(a.stdout, "%s starts at %s.\n", w.Name, cronText(*cron))
		return err
	})
}

func (a *app) scheduleStopCommand() *command {
	return a.simple(command{
		name: "stop", args: "<workspace-name> { <duration> | manual }", min: 2, max: 2,
		short:    "Stop a workspace by itself some time after its start.",
		long:     "The next start counts from this; 'extend' moves the stop of a workspace that runs.",
		examples: []example{{"After a working day", "coder schedule stop dev 8h30m"}},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, args []string) error {
		var ms *int64
		if args[0] != "manual" {
			d, err := parseDuration(args[0])
			if err != nil {
				return failure("%s", err)
			}
			if d < time.Minute {
				return failure("a workspace runs for at least a minute, got %s", args[0])
			}
			n := d.Milliseconds()
			ms = &n
		}
		if err := c.UpdateWorkspaceTTL(ctx, w.ID, coder.UpdateWorkspaceTTLRequest{TTLMS: ms}); err != nil {
			return err
		}
		if ms == nil {
			_, err := fmt.Fprintf(a.stdout, "%s is stopped by hand only.\n", w.Name)
			return err
		}
		_, err := fmt.Fprintf(a.stdout, "%s stops %s after its next start.\n", w.Name, span(time.Duration(*ms)*time.Millisecond))
		return err
	})
}

func (a *app) scheduleExtendCommand() *command {
	return a.simple(command{
		name: "extend", aliases: []string{"override-stop"}, args: "<workspace-name> <duration from now>", min: 2, max: 2,
		short:    "Let a running workspace stop later than it would.",
		examples: []example{{"In two hours from now", "coder schedule extend dev 2h"}},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, args []string) error {
		d, err := parseDuration(args[0])
		if err != nil {
			return failure("%s", err)
		}
		if d < 30*time.Minute {
			return failure("a stop is moved to at least 30 minutes from now, got %s", args[0])
		}
		at := a.now().Add(d).Truncate(time.Second)
		if err := c.ExtendWorkspace(ctx, w.ID, coder.PutExtendWorkspaceRequest{Deadline: &at}); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.stdout, "%s stops at %s.\n", w.Name, date(at))
		return err
	})
}

func startsAt(w coder.Workspace) string {
	if w.AutostartSchedule == nil {
		return ""
	}
	return cronText(*w.AutostartSchedule)
}

// cronOf makes the server's schedule of "<time> [days] [zone]", such as
// "9:30AM Mon-Fri Europe/Lisbon". Days are any by default, and the zone is
// this machine's.
func (a *app) cronOf(s string) (string, error) {
	fields := strings.Fields(s)
	if len(fields) == 0 || len(fields) > 3 {
		return "", failure("%q is no schedule; write <time> [days] [zone], such as 9:30AM Mon-Fri Europe/Lisbon", s)
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
			return "", failure("%q is neither days, such as Mon-Fri or Sun,Sat, nor a zone, such as Europe/Lisbon", f)
		}
		zone = f
	}
	if zone == "" {
		zone = a.zone()
	}
	return fmt.Sprintf("CRON_TZ=%s %d %d * * %s", zone, at.Minute(), at.Hour(), days), nil
}

// clock reads a time of the day.
func clock(s string) (time.Time, error) {
	for _, layout := range []string{"15:04", "3:04PM", "3PM", "15h04"} {
		if t, err := time.Parse(layout, strings.ToUpper(s)); err == nil {
			return t, nil
		}
	}
	return time.Time{}, failure("%q is no time of the day; write 9:30AM or 09:30", s)
}

// weekdays reads days as cron wants them: Mon-Fri, Sun,Tue, 1-5 or *.
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
		if b < a { // over the end of the week, such as Fri-Mon
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

// zone is the name of this machine's time zone.
func (a *app) zone() string {
	if tz := strings.TrimPrefix(a.env["TZ"], ":"); tz != "" {
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

// cronText words a schedule of the server as cronOf takes it.
func cronText(cron string) string {
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
