package agentcmd

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/externalauth"
)

// Main runs the slim program: the agent and the commands of this package. Any
// other command is run by the full coder program, which is downloaded for it.
// args starts with the program name; environ is a list of key=value, like that
// of os.Environ. Main returns the exit status.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	if externalauth.AsksForLogin(args, environ) {
		return externalauth.Login(ctx, args[1], stdout, stderr, environ)
	}
	streams := command.Streams{In: stdin, Out: stdout, Err: stderr}
	if name := firstWord(args); name != "" && !knows(args) {
		tree := func(a *command.Run) *command.Command {
			return &command.Command{Name: "coder", Max: -1, StopAt: 1, Run: func(ctx context.Context, _ []string) error { return runFullProgram(ctx, a, args) }}
		}
		return command.Main(ctx, []string{args[0], name}, streams, environ, tree)
	}
	return command.Main(ctx, args, streams, environ, root)
}

// root returns the command tree of the slim program.
func root(a *command.Run) *command.Command {
	return &command.Command{
		Name: "coder", Args: "[global-flags] <subcommand>", RawUsage: true,
		Short: "Workspace agent and workspace commands",
		Long: "Contains the agent and the commands that are used inside a workspace. For every other command it " +
			"downloads the full coder program from the workspace's server, once per version.",
		Subs: append(Commands(a), a.VersionCommand(), a.CompletionCommand()),
	}
}

// firstWord returns the first argument that is not a flag. That is the command,
// unless it is the value of a global flag.
func firstWord(args []string) string {
	for _, a := range args[min(1, len(args)):] {
		if !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return ""
}

// knows reports whether the slim program contains the command of args. Of the
// experimental commands it contains only sync, so the second word decides
// there.
func knows(args []string) bool {
	subs := command.New(command.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, nil, root).Root.Subs
	known := func(name string) int {
		return slices.IndexFunc(subs, func(c *command.Command) bool { return c.Name == name })
	}
	at := known(firstWord(args))
	if at < 0 || subs[at].Name != experiments {
		return at >= 0
	}
	rest := args[slices.Index(args, experiments):]
	subs = subs[at].Subs
	return firstWord(rest) == "" || known(firstWord(rest)) >= 0
}
