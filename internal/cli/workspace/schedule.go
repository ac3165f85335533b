package workspace

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/autostart"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
)

func scheduleCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "schedule", Args: "{ show | start | stop | extend } <workspace>", RawUsage: true,
		Short: "Say when a workspace starts and stops by itself.",
		Subs:  []*app.Command{scheduleShowCommand(a), scheduleStartCommand(a), scheduleStopCommand(a), scheduleExtendCommand(a)},
	}
}

func scheduleShowCommand(a *app.Run) *app.Command {
	type row = coder.Workspace
	var columns []app.Column[row]
	for _, c := range workspaceColumns(a) {
		switch c.Name {
		case "workspace", "starts at", "starts next", "stops after", "stops next":
			columns = append(columns, c)
		}
	}
	l := &app.Listing[row]{All: columns, NoMatch: "No workspaces."}
	var all bool
	var search string
	searchOption := option.String(&search, "search", "Only those that this search finds.").Def("owner:me")
	return &app.Command{
		Name: "show", Args: "<workspace | --search <query> | --all>", Max: 1,
		Short: "Show when workspaces start and stop by themselves.",
		Options: []*option.Option{
			option.Bool(&all, "all", "Those of everybody that you may see.").Short("a"), searchOption,
			l.ColumnOption("workspace,starts at,starts next,stops after,stops next"), l.FormatOption(),
		},
		Complete: build.Names(a),
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				w, _, err := build.Workspace(ctx, a, c, args[0])
				if err != nil {
					return err
				}
				return l.Write(a, []row{w})
			}
			if all && !searchOption.Given() {
				search = ""
			}
			rows, err := allWorkspaces(ctx, c, search)
			if err != nil {
				return err
			}
			return l.Write(a, rows)
		},
	}
}

func scheduleStartCommand(a *app.Run) *app.Command {
	return build.OnWorkspace(a, app.Command{
		Name: "start", Args: "<workspace-name> { <start-time> [day-of-week] [location] | manual }", Min: 2, Max: 4,
		Short: "Start a workspace by itself at a time of the day.",
		Examples: []app.Example{
			{Text: "On working days", Line: "coder schedule start dev 9:30AM Mon-Fri Europe/Lisbon"},
			{Text: "Never", Line: "coder schedule start dev manual"},
		},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, args []string) error {
		var cron *string
		if args[0] != "manual" {
			s, err := autostart.Cron(strings.Join(args, " "), a.Env)
			if err != nil {
				return err
			}
			cron = &s
		}
		if err := c.UpdateWorkspaceAutostart(ctx, w.ID, coder.UpdateWorkspaceAutostartRequest{Schedule: cron}); err != nil {
			return err
		}
		if cron == nil {
			_, err := fmt.Fprintf(a.Stdout, "%s is started by hand only.\n", w.Name)
			return err
		}
		_, err := fmt.Fprintf(a.Stdout, "%s starts at %s.\n", w.Name, autostart.Text(*cron))
		return err
	})
}

func scheduleStopCommand(a *app.Run) *app.Command {
	return build.OnWorkspace(a, app.Command{
		Name: "stop", Args: "<workspace-name> { <duration> | manual }", Min: 2, Max: 2,
		Short:    "Stop a workspace by itself some time after its start.",
		Long:     "The next start counts from this; 'extend' moves the stop of a workspace that runs.",
		Examples: []app.Example{{Text: "After a working day", Line: "coder schedule stop dev 8h30m"}},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, args []string) error {
		var ms *int64
		if args[0] != "manual" {
			d, err := option.ParseDuration(args[0])
			if err != nil {
				return app.Failure("%s", err)
			}
			if d < time.Minute {
				return app.Failure("a workspace runs for at least a minute, got %s", args[0])
			}
			n := d.Milliseconds()
			ms = &n
		}
		if err := c.UpdateWorkspaceTTL(ctx, w.ID, coder.UpdateWorkspaceTTLRequest{TTLMS: ms}); err != nil {
			return err
		}
		if ms == nil {
			_, err := fmt.Fprintf(a.Stdout, "%s is stopped by hand only.\n", w.Name)
			return err
		}
		_, err := fmt.Fprintf(a.Stdout, "%s stops %s after its next start.\n", w.Name, terminal.Span(time.Duration(*ms)*time.Millisecond))
		return err
	})
}

func scheduleExtendCommand(a *app.Run) *app.Command {
	return build.OnWorkspace(a, app.Command{
		Name: "extend", Aliases: []string{"override-stop"}, Args: "<workspace-name> <duration from now>", Min: 2, Max: 2,
		Short:    "Let a running workspace stop later than it would.",
		Examples: []app.Example{{Text: "In two hours from now", Line: "coder schedule extend dev 2h"}},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, args []string) error {
		d, err := option.ParseDuration(args[0])
		if err != nil {
			return app.Failure("%s", err)
		}
		if d < 30*time.Minute {
			return app.Failure("a stop is moved to at least 30 minutes from now, got %s", args[0])
		}
		at := a.Now().Add(d).Truncate(time.Second)
		if err := c.ExtendWorkspace(ctx, w.ID, coder.PutExtendWorkspaceRequest{Deadline: &at}); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "%s stops at %s.\n", w.Name, app.Date(at))
		return err
	})
}

func startsAt(w coder.Workspace) string {
	if w.AutostartSchedule == nil {
		return ""
	}
	return autostart.Text(*w.AutostartSchedule)
}
