package workspace

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/autostart"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/terminal"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

func scheduleCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "schedule", Args: "{ show | start | stop | extend } <workspace>", RawUsage: true,
		Short: "Manage the autostart and autostop of workspaces",
		Subs:  []*command.Command{scheduleShowCommand(a), scheduleExplainCommand(a), scheduleStartCommand(a), scheduleStopCommand(a), scheduleExtendCommand(a)},
	}
}

func scheduleShowCommand(a *command.Run) *command.Command {
	type row = codersdk.Workspace
	var columns []command.Column[row]
	for _, c := range workspaceColumns(a) {
		switch c.Name {
		case "workspace", "starts at", "starts next", "stops after", "stops next":
			columns = append(columns, c)
		}
	}
	l := &command.Listing[row]{All: columns, NoMatch: "No workspaces found."}
	var all bool
	var search string
	searchOption := option.String(&search, "search", "Search query to filter by").Def("owner:me")
	return &command.Command{
		Name: "show", Args: "<workspace | --search <query> | --all>", Max: 1,
		Short: "Show autostart and autostop schedules",
		Options: []*option.Option{
			option.Bool(&all, "all", "Include workspaces of all users that you can access").Short("a"), searchOption,
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

func scheduleExplainCommand(a *command.Run) *command.Command {
	l := &command.Listing[codersdk.ActivityEvidence]{All: []command.Column[codersdk.ActivityEvidence]{
		{Name: "connection", Show: func(e codersdk.ActivityEvidence) string { return string(e.Type) }},
		{Name: "extends stop", Show: func(e codersdk.ActivityEvidence) string { return command.YesNo(e.Counts) }},
		{Name: "open", Show: func(e codersdk.ActivityEvidence) string { return strconv.FormatInt(e.Open, 10) }},
		{Name: "last", Show: func(e codersdk.ActivityEvidence) string { return command.DateOf(e.LastAt) }},
	}}
	return build.OnWorkspace(a, command.Command{
		Name: "explain", Args: "<workspace-name>", Min: 1, Max: 1,
		Short:    "Explain when and why a workspace stops automatically",
		Long:     "Lists the connections of the last week by type, and which types extend the stop.",
		Examples: []command.Example{{Text: "Why did my workspace not stop?", Line: "coder schedule explain dev"}},
		Options:  []*option.Option{l.ColumnOption("connection,extends stop,open,last"), l.FormatOption()},
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, _ []string) error {
		out, err := c.WorkspaceActivity(ctx, w.ID)
		if err != nil {
			return err
		}
		if l.Format == "json" {
			return command.WriteJSON(a.Stdout, out)
		}
		for _, reason := range out.Reasons {
			if _, err := fmt.Fprintln(a.Stdout, reason); err != nil {
				return err
			}
		}
		return l.Write(a, out.Evidence)
	})
}

func scheduleStartCommand(a *command.Run) *command.Command {
	return build.OnWorkspace(a, command.Command{
		Name: "start", Args: "<workspace-name> { <start-time> [day-of-week] [location] | manual }", Min: 2, Max: 4,
		Short: "Set or disable the autostart of a workspace",
		Examples: []command.Example{
			{Text: "Start at 9:30 on working days", Line: "coder schedule start dev 9:30AM Mon-Fri Europe/Lisbon"},
			{Text: "Never", Line: "coder schedule start dev manual"},
		},
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, args []string) error {
		var cron *string
		if args[0] != "manual" {
			s, err := autostart.Cron(strings.Join(args, " "), a.Env)
			if err != nil {
				return err
			}
			cron = &s
		}
		if err := c.UpdateWorkspaceAutostart(ctx, w.ID, codersdk.UpdateWorkspaceAutostartRequest{Schedule: cron}); err != nil {
			return err
		}
		if cron == nil {
			_, err := fmt.Fprintf(a.Stdout, "Disabled autostart of %s.\n", w.Name)
			return err
		}
		_, err := fmt.Fprintf(a.Stdout, "%s starts at %s.\n", w.Name, autostart.Text(*cron))
		return err
	})
}

func scheduleStopCommand(a *command.Run) *command.Command {
	return build.OnWorkspace(a, command.Command{
		Name: "stop", Args: "<workspace-name> { <duration> | manual }", Min: 2, Max: 2,
		Short:    "Set or disable the autostop of a workspace",
		Long:     "Applies from the next start. Use 'extend' for a running workspace.",
		Examples: []command.Example{{Text: "Stop after a working day", Line: "coder schedule stop dev 8h30m"}},
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, args []string) error {
		var ms *int64
		if args[0] != "manual" {
			d, err := option.ParseDuration(args[0])
			if err != nil {
				return command.Failure("%s", err)
			}
			if d < time.Minute {
				return command.Failure("autostop must be at least one minute, got %s", args[0])
			}
			n := d.Milliseconds()
			ms = &n
		}
		if err := c.UpdateWorkspaceTTL(ctx, w.ID, codersdk.UpdateWorkspaceTTLRequest{TTLMS: ms}); err != nil {
			return err
		}
		if ms == nil {
			_, err := fmt.Fprintf(a.Stdout, "Disabled autostop of %s.\n", w.Name)
			return err
		}
		_, err := fmt.Fprintf(a.Stdout, "%s stops %s after its next start.\n", w.Name, terminal.Span(time.Duration(*ms)*time.Millisecond))
		return err
	})
}

func scheduleExtendCommand(a *command.Run) *command.Command {
	return build.OnWorkspace(a, command.Command{
		Name: "extend", Aliases: []string{"override-stop"}, Args: "<workspace-name> <duration from now>", Min: 2, Max: 2,
		Short:    "Extend the autostop of a running workspace",
		Examples: []command.Example{{Text: "Stop two hours from now", Line: "coder schedule extend dev 2h"}},
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, args []string) error {
		d, err := option.ParseDuration(args[0])
		if err != nil {
			return command.Failure("%s", err)
		}
		if d < 30*time.Minute {
			return command.Failure("the new stop must be at least 30 minutes from now, got %s", args[0])
		}
		at := a.Now().Add(d).Truncate(time.Second)
		if err := c.ExtendWorkspace(ctx, w.ID, codersdk.PutExtendWorkspaceRequest{Deadline: &at}); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "%s stops at %s.\n", w.Name, command.Date(at))
		return err
	})
}

func startsAt(w codersdk.Workspace) string {
	if w.AutostartSchedule == nil {
		return ""
	}
	return autostart.Text(*w.AutostartSchedule)
}
