// Package agentcmd is the command group that runs inside a workspace: the
// agent, git's SSH and credentials, stat, dotfiles, and the start order of
// scripts. Main runs these commands as a program of their own.
package agentcmd

import (
	"context"
	"io"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/externalauth"
	"github.com/seed-2a7f8fe7/coder/internal/cli/gitcmd"
	"github.com/seed-2a7f8fe7/coder/internal/netcheck"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Commands returns the commands of this package. The command exp also gets the
// experimental commands of other packages.
func Commands(a *command.Run, experimental ...*command.Command) []*command.Command {
	return []*command.Command{
		agentCommand(a), gitcmd.SSHCommand(a), statCommand(a), dotfilesCommand(a), gitcmd.Command(a), expCommand(a, experimental), execCommand(a),
		externalauth.AskpassCommand(a), externalauth.Command(a),
	}
}

// agentCommand returns the command that the init script of a workspace runs. It
// is configured by environment variables.
func agentCommand(a *command.Run) *command.Command {
	var auth, name string
	var untilEOF bool
	return &command.Command{
		Name: "agent", Max: 0, Hidden: true,
		Short: "Run the workspace agent",
		Long: "Reads CODER_AGENT_URL, CODER_AGENT_TOKEN (or CODER_AGENT_TOKEN_FILE) and CODER_AGENT_SUBSYSTEM. The " +
			"debug endpoints listen at CODER_AGENT_DEBUG_ADDRESS (default 127.0.0.1:2113). The socket for 'coder " +
			"exp sync' is at CODER_AGENT_SOCKET_PATH, unless CODER_AGENT_SOCKET_SERVER_ENABLED=false. The agent " +
			"reconnects to the server indefinitely. On SIGTERM it runs the stop scripts and exits.",
		Options: []*option.Option{
			option.Choice(&auth, "auth", "Authentication method: a token, or the identity of the cloud instance",
				agent.AuthToken, agent.AuthAWS, agent.AuthAzure, agent.AuthGoogle).Env("CODER_AGENT_AUTH").Def(agent.AuthToken),
			option.String(&name, "agent-name", "Name of the agent, if several run on the cloud instance").Env("CODER_AGENT_NAME"),
			option.Bool(&untilEOF, "until-eof", "Also exit at the end of standard input"),
		},
		Run: func(ctx context.Context, _ []string) error {
			c, err := agent.ConfigFromEnv(append(a.Environ(), "CODER_AGENT_AUTH="+auth, "CODER_AGENT_NAME="+name))
			if err != nil {
				return err
			}
			c.Version, c.Stderr = codersdk.Version(), a.Stderr
			c.Netcheck = func(ctx context.Context, stun []string, noDirect bool) any {
				return netcheck.Run(ctx, codersdk.New(c.URL), netcheck.Options{Agent: true, STUN: stun, NoDirect: noDirect})
			}
			ag, err := agent.New(c)
			if err != nil {
				return err
			}
			if untilEOF {
				var stop context.CancelFunc
				ctx, stop = context.WithCancel(ctx)
				defer stop()
				go func() {
					_, _ = io.Copy(io.Discard, a.Stdin) // any error ends the agent, too
					stop()
				}()
			}
			return ag.Run(ctx)
		},
	}
}

// execCommand returns the command with which the agent starts sessions and
// scripts that run at a lower priority.
func execCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: agent.ExecCommand, Args: "<file> <nice> <oom score> <name> [<argument> ...]", Min: 4, Max: -1, StopAt: 1, Hidden: true, Signals: true,
		Short: "Run a program at a lower priority than the agent",
		Run:   func(_ context.Context, args []string) error { return agent.Exec(args, a.Environ()) },
	}
}
