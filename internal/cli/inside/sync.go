package inside

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/startup"
)

// experiments is the command that commands are below which may change.
const experiments = "exp"

func expCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: experiments, Hidden: true,
		Short: "Commands that may change or go.",
		Subs:  []*app.Command{syncCommand(a)},
	}
}

// startWait is how long a unit waits for what it wants, unless it is told.
const startWait = 5 * time.Minute

// syncCommand orders what the scripts of a workspace start. (AG-25)
func syncCommand(a *app.Run) *app.Command {
	c := &startup.Client{}
	reach := func(run func(ctx context.Context, args []string) error) func(context.Context, []string) error {
		return func(ctx context.Context, args []string) error {
			if c.Path == "" {
				return app.Failure("this is for the scripts and sessions of a workspace, where CODER_AGENT_SOCKET_PATH says how the agent is reached; set CODER_AGENT_SOCKET_SERVER_ENABLED=true in the agent's environment, or say --socket-path")
			}
			return run(ctx, args)
		}
	}
	var wait time.Duration
	return &app.Command{
		Name:  "sync",
		Short: "Order what the scripts of a workspace start.",
		Long: "Scripts of a workspace run side by side. A unit is what a script calls one. It says which units must be complete before " +
			"its own starts, waits for them at start, and says when it is complete. The agent must run with CODER_AGENT_SOCKET_SERVER_ENABLED=true.",
		Examples: []app.Example{
			{Text: "Build what another script clones", Line: "coder exp sync want build clone && coder exp sync start build && make && coder exp sync complete build"},
		},
		Options: []*option.Option{option.String(&c.Path, "socket-path", "The agent's socket.").Env("CODER_AGENT_SOCKET_PATH")},
		Subs: []*app.Command{
			{
				Name: "ping", Max: 0, Short: "Ask whether the agent answers.",
				Run: reach(func(ctx context.Context, _ []string) error {
					id, err := c.Ping(ctx)
					if err == nil {
						_, err = fmt.Fprintf(a.Stdout, "The agent %s answers.\n", id)
					}
					return err
				}),
			},
			{
				Name: "want", Args: "<unit> <depends-on> [<depends-on> ...]", Min: 2, Max: -1, Short: "Say which units must be complete before a unit starts.",
				Run: reach(func(ctx context.Context, args []string) error { return c.Want(ctx, args[0], args[1:]...) }),
			},
			{
				Name: "start", Args: "<unit>", Min: 1, Max: 1, Short: "Wait until all that a unit wants is complete, and start it.",
				Options: []*option.Option{option.Duration(&wait, "timeout", "How long to wait; 0 not to wait.").Def(startWait.String())},
				Run:     reach(func(ctx context.Context, args []string) error { return c.Start(ctx, args[0], wait) }),
			},
			{
				Name: "complete", Args: "<unit>", Min: 1, Max: 1, Short: "Say that a unit is complete.",
				Run: reach(func(ctx context.Context, args []string) error { return c.Complete(ctx, args[0]) }),
			},
			syncStatus(a, c, reach),
		},
	}
}

func syncStatus(a *app.Run, c *startup.Client, reach func(func(context.Context, []string) error) func(context.Context, []string) error) *app.Command {
	l := &app.Listing[startup.Dependency]{
		NoMatch: "It waits for no other unit.",
		All: []app.Column[startup.Dependency]{
			{Name: "depends on", Show: func(d startup.Dependency) string { return d.DependsOn }},
			{Name: "required status", Show: func(d startup.Dependency) string { return string(d.RequiredStatus) }},
			{Name: "current status", Show: func(d startup.Dependency) string { return string(d.CurrentStatus) }},
			{Name: "satisfied", Show: func(d startup.Dependency) string { return app.YesNo(d.IsSatisfied) }},
		},
	}
	return &app.Command{
		Name: "status", Args: "<unit>", Min: 1, Max: 1, Short: "Show how far a unit is, and what it waits for.",
		Options: []*option.Option{l.ColumnOption("depends on,required status,current status,satisfied"), l.FormatOption()},
		Run: reach(func(ctx context.Context, args []string) error {
			u, err := c.Get(ctx, args[0])
			if err != nil {
				return err
			}
			if l.Format == "json" {
				return app.WriteJSON(a.Stdout, u)
			}
			fmt.Fprintf(a.Stdout, "Unit: %s\nStatus: %s\nReady: %s\n", u.Name, u.Status, app.YesNo(u.IsReady))
			if len(u.Dependencies) > 0 {
				fmt.Fprintln(a.Stdout)
			}
			return l.Write(a, u.Dependencies)
		}),
	}
}
