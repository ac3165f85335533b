// Package gitcmd is the commands for git in a workspace: the client of SSH that git runs, and clones.
package gitcmd

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/gitauth"
	"github.com/seed-2a7f8fe7/coder/internal/gitmirror/clone"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// SSHCommand returns the command that GIT_SSH_COMMAND names inside a workspace.
func SSHCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "gitssh", Args: "<ssh arguments>", Min: 1, Max: -1, StopAt: 1, Hidden: true,
		Short: "Run ssh for git with the workspace owner's key",
		Run: func(ctx context.Context, args []string) error {
			code, err := gitauth.SSH(ctx, a.Environ(), args, a.Stdin, a.Raw, a.RawErr)
			if err == nil && code != 0 {
				return command.ExitStatus(code)
			}
			return err
		},
	}
}

// Command returns the commands for git repositories in a workspace.
func Command(a *command.Run) *command.Command {
	c := &clone.Clone{}
	return &command.Command{
		Name:  "git",
		Short: "Clone git repositories inside a workspace",
		Subs: []*command.Command{
			{
				Name: "clone", Args: "<url> [<directory>]", Min: 1, Max: 2,
				Short: "Clone a git repository so that its files are there early",
				Long: "Gets the repository from the server's git mirror if the mirror has it (see --git-mirror of 'coder server'). " +
					"Otherwise clones the newest commit from the host first, and completes the history in the background. The result is " +
					"that of 'git clone': the remote origin is the host. Does nothing if the directory already is a clone of the URL, so " +
					"that startup scripts can run it at each start. Submodules are not cloned.",
				Examples: []command.Example{
					{Text: "Clone a repository into your home directory in a startup script", Line: "coder git clone https://github.com/acme/shop ~/shop"},
				},
				Options: []*option.Option{
					option.String(&c.Branch, "branch", "Branch or tag to check out (default: the repository's default branch)").Short("b"),
					option.Bool(&c.Wait, "wait", "Wait until the history is complete"),
				},
				Run: func(ctx context.Context, args []string) error {
					c.URL = args[0]
					if len(args) > 1 {
						c.Dir = args[1]
					}
					if err := prepareClone(c, a); err != nil {
						return err
					}
					return c.Run(ctx)
				},
			},
			{
				Name: "history", Args: "<url> <directory>", Min: 2, Max: 2, Hidden: true,
				Short: "Complete the history of a clone",
				Run: func(ctx context.Context, args []string) error {
					c.URL = args[0]
					if err := prepareClone(c, a); err != nil {
						return err
					}
					return c.History(ctx, args[1])
				},
			},
		},
	}
}

// prepareClone completes a clone with the environment of the command.
func prepareClone(c *clone.Clone, a *command.Run) error {
	if _, err := exec.LookPath("git"); err != nil {
		return command.Failure("git is not installed in this workspace; add it to the template's image")
	}
	c.Env, c.Out = a.Environ(), a.Stderr
	c.Client, _ = gitauth.Client(c.Env) //nolint:errcheck // outside a workspace there is no mirror
	c.Complete = func(dir string) error { return completeInBackground(c.URL, dir, c.Env) }
	return nil
}

// historyLog is the file in .git with the output of the process that completes the history.
const historyLog = "coder-history.log"

// completeInBackground starts a process that completes the history of a clone, and outlives this one and the script
// that runs it.
func completeInBackground(url, dir string, env []string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, ".git", historyLog))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(exe, "git", "history", url, dir) //nolint:noctx // it outlives the context
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = env, log, log, detached()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("complete the history in the background: %w", err)
	}
	return cmd.Process.Release()
}
