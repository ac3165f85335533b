package cli

import (
	"context"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
)

// agentCommand is what the init script of a workspace starts. It is told
// everything by its environment.
func (a *app) agentCommand() *command {
	return &command{
		name: "agent", max: 0, hidden: true,
		short: "Serve inside of a workspace.",
		long: "Reads CODER_AGENT_URL, CODER_AGENT_TOKEN (or CODER_AGENT_TOKEN_FILE), CODER_AGENT_AUTH and " +
			"CODER_AGENT_SUBSYSTEM. It dials the server again for ever, and ends at SIGTERM after the stop scripts.",
		run: func(ctx context.Context, _ []string) error {
			c, err := agent.ConfigFromEnv(a.environ())
			if err != nil {
				return err
			}
			c.Version, c.Stderr = coder.Version(), a.stderr
			ag, err := agent.New(c)
			if err != nil {
				return err
			}
			return ag.Run(ctx)
		},
	}
}

// gitsshCommand is what GIT_SSH_COMMAND names inside of a workspace.
func (a *app) gitsshCommand() *command {
	return &command{
		name: "gitssh", args: "<ssh arguments>", min: 1, max: -1, stopAt: 1, hidden: true,
		short: "Run ssh for git with the key of the workspace's owner.",
		run: func(ctx context.Context, args []string) error {
			code, err := agent.GitSSH(ctx, a.environ(), args, a.stdin, a.stdout, a.stderr)
			if err == nil && code != 0 {
				return exitStatus(code)
			}
			return err
		},
	}
}
