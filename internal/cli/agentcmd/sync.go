package agentcmd

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
	"github.com/seed-2a7f8fe7/coder/internal/startup"
)

// experiments is the parent of experimental commands.
const experiments = "exp"

func expCommand(a *command.Run, more []*command.Command) *command.Command {
	return &command.Command{
		Name: experiments, Hidden: true,
		Short: "Experimental commands",
		Subs:  append([]*command.Command{syncCommand(a)}, more...),
	}
}

// startWait is the default timeout of sync start.
const startWait = 5 * time.Minute

// syncCommand returns the commands that order the scripts of a workspace.
// (AG-25)
func syncCommand(a *command.Run) *command.Command {
	c := &startup.Client{}
	reach := func(run func(ctx context.Context, args []string) error) func(context.Context, []string) error {
		return func(ctx context.Context, args []string) error {
			if c.Path == "" {
				return command.Failure("the agent's socket is unknown: run this command in a script or session of a workspace, where " +
					"CODER_AGENT_SOCKET_PATH is set, or set --socket-path; the agent's log shows why a workspace has no " +
					"socket")
			}
			return run(ctx, args)
		}
	}
	var wait time.Duration
	return &command.Command{
		Name:  "sync",
		Short: "Synchronize the startup scripts of a workspace",
		Long: "Scripts of a workspace run concurrently. A unit is a name that a script chooses for its work. The " +
			"script declares the units that must be complete before its own, waits for them with start, and " +
			"marks its own unit complete.",
		Examples: []command.Example{
			{
				Text: "Build after another script has cloned",
				Line: "coder exp sync want build clone && coder exp sync start build && make && coder exp sync complete build",
			},
		},
		Options: []*option.Option{option.String(&c.Path, "socket-path", "Path of the agent's socket").Env("CODER_AGENT_SOCKET_PATH")},
		Subs: []*command.Command{
			{
				Name: "ping", Max: 0, Short: "Check the connection to the agent",
				Run: reach(func(ctx context.Context, _ []string) error {
					id, err := c.Ping(ctx)
					if err == nil {
						_, err = fmt.Fprintf(a.Stdout, "Agent %s is reachable.\n", id)
					}
					return err
				}),
			},
			{
				Name: "want", Args: "<unit> <depends-on> [<depends-on> ...]", Min: 2, Max: -1, Short: "Declare the units that a unit depends on",
				Run: reach(func(ctx context.Context, args []string) error { return c.Want(ctx, args[0], args[1:]...) }),
			},
			{
				Name: "start", Args: "<unit>", Min: 1, Max: 1, Short: "Wait for the dependencies of a unit and start it",
				Options: []*option.Option{option.Duration(&wait, "timeout", "Time to wait; 0 means not to wait").Def(startWait.String())},
				Run:     reach(func(ctx context.Context, args []string) error { return c.Start(ctx, args[0], wait) }),
			},
			{
				Name: "complete", Args: "<unit>", Min: 1, Max: 1, Short: "Mark a unit as complete",
				Run: reach(func(ctx context.Context, args []string) error { return c.Complete(ctx, args[0]) }),
			},
			syncStatus(a, c, reach),
		},
	}
}

func syncStatus(a *command.Run, c *startup.Client, reach func(func(context.Context, []string) error) func(context.Context, []string) error) *command.Command {
	l := &command.Listing[startup.Dependency]{
		NoMatch: "The unit has no dependencies.",
		All: []command.Column[startup.Dependency]{
			{Name: "depends on", Show: func(d startup.Dependency) string { return d.DependsOn }},
			{Name: "required status", Show: func(d startup.Dependency) string { return string(d.RequiredStatus) }},
			{Name: "current status", Show: func(d startup.Dependency) string { return string(d.CurrentStatus) }},
			{Name: "satisfied", Show: func(d startup.Dependency) string { return command.YesNo(d.IsSatisfied) }},
		},
	}
	return &command.Command{
		Name: "status", Args: "<unit>", Min: 1, Max: 1, Short: "Show the status and the dependencies of a unit",
		Options: []*option.Option{l.ColumnOption("depends on,required status,current status,satisfied"), l.FormatOption()},
		Run: reach(func(ctx context.Context, args []string) error {
			u, err := c.Get(ctx, args[0])
			if err != nil {
				return err
			}
			if l.Format == "json" {
				return command.WriteJSON(a.Stdout, u)
			}
			fmt.Fprintf(a.Stdout, "Unit: %s\nStatus: %s\nReady: %s\n", u.Name, u.Status, command.YesNo(u.IsReady))
			if len(u.Dependencies) > 0 {
				fmt.Fprintln(a.Stdout)
			}
			return l.Write(a, u.Dependencies)
		}),
	}
}
