package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/autostart"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
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
	searchOption := option.String(&search, "search", "Only those that this search finds.").Def("owner:me")
	return &command{
		name: "show", args: "<workspace | --search <query> | --all>", max: 1,
		short: "Show when workspaces start and stop by themselves.",
		options: []*option.Option{
			option.Bool(&all, "all", "Those of everybody that you may see.").Short("a"), searchOption,
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
			if all && !searchOption.Given() {
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
			s, err := autostart.Cron(strings.Join(args, " "), a.env)
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
		_, err := fmt.Fprintf(a.stdout, "%s starts at %s.\n", w.Name, autostart.Text(*cron))
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
			d, err := option.ParseDuration(args[0])
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
		_, err := fmt.Fprintf(a.stdout, "%s stops %s after its next start.\n", w.Name, terminal.Span(time.Duration(*ms)*time.Millisecond))
		return err
	})
}

func (a *app) scheduleExtendCommand() *command {
	return a.simple(command{
		name: "extend", aliases: []string{"override-stop"}, args: "<workspace-name> <duration from now>", min: 2, max: 2,
		short:    "Let a running workspace stop later than it would.",
		examples: []example{{"In two hours from now", "coder schedule extend dev 2h"}},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, args []string) error {
		d, err := option.ParseDuration(args[0])
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
	return autostart.Text(*w.AutostartSchedule)
}
