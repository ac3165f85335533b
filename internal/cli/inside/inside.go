// Package inside is the family of commands that run in a workspace: the agent,
// which is told everything by its environment, git's ssh and git's logins with
// what the server keeps for the owner, stat, dotfiles, and the order of what
// starts. Main makes a program of them alone.
package inside

import (
	"context"
	"io"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
	"github.com/seed-2a7f8fe7/coder/internal/gitauth"
)

// Commands are the commands of this family.
func Commands(a *app.Run) []*app.Command {
	return []*app.Command{agentCommand(a), gitsshCommand(a), statCommand(a), dotfilesCommand(a), expCommand(a), execCommand(a)}
}

// agentCommand is what the init script of a workspace starts. It is told
// everything by its environment.
func agentCommand(a *app.Run) *app.Command {
	var auth string
	var untilEOF bool
	return &app.Command{
		Name: "agent", Max: 0, Hidden: true,
		Short: "Serve inside of a workspace.",
		Long: "Reads CODER_AGENT_URL, CODER_AGENT_TOKEN (or CODER_AGENT_TOKEN_FILE) and " +
			"CODER_AGENT_SUBSYSTEM; the debug endpoints are at CODER_AGENT_DEBUG_ADDRESS, 127.0.0.1:2113 unless it is set. " +
			"With CODER_AGENT_SOCKET_SERVER_ENABLED=true it answers 'coder exp sync' on a socket, at CODER_AGENT_SOCKET_PATH if that is set. It dials the server again for ever, and ends at SIGTERM after the stop scripts.",
		Options: []*option.Option{
			option.Choice(&auth, "auth", "How to prove to the server who this is: by a token, or by what the cloud says of this machine.",
				agent.AuthToken, agent.AuthAWS, agent.AuthAzure, agent.AuthGoogle).Env("CODER_AGENT_AUTH").Def(agent.AuthToken),
			option.Bool(&untilEOF, "until-eof", "Stop at the end of standard input too: when who started it is gone."),
		},
		Run: func(ctx context.Context, _ []string) error {
			c, err := agent.ConfigFromEnv(append(a.Environ(), "CODER_AGENT_AUTH="+auth))
			if err != nil {
				return err
			}
			c.Version, c.Stderr = coder.Version(), a.Stderr
			ag, err := agent.New(c)
			if err != nil {
				return err
			}
			if untilEOF {
				var stop context.CancelFunc
				ctx, stop = context.WithCancel(ctx)
				defer stop()
				go func() {
					_, _ = io.Copy(io.Discard, a.Stdin) // however it ends, it ends
					stop()
				}()
			}
			return ag.Run(ctx)
		},
	}
}

// gitsshCommand is what GIT_SSH_COMMAND names inside of a workspace.
func gitsshCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "gitssh", Args: "<ssh arguments>", Min: 1, Max: -1, StopAt: 1, Hidden: true,
		Short: "Run ssh for git with the key of the workspace's owner.",
		Run: func(ctx context.Context, args []string) error {
			code, err := gitauth.SSH(ctx, a.Environ(), args, a.Stdin, a.Stdout, a.Stderr)
			if err == nil && code != 0 {
				return app.ExitStatus(code)
			}
			return err
		},
	}
}

// execCommand is what the agent begins sessions and scripts with when they are
// to yield to it.
func execCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: agent.ExecCommand, Args: "<file> <nice> <oom score> <name> [<argument> ...]", Min: 4, Max: -1, StopAt: 1, Hidden: true, Signals: true,
		Short: "Become another program that yields to the agent.",
		Run:   func(_ context.Context, args []string) error { return agent.Exec(args, a.Environ()) },
	}
}
