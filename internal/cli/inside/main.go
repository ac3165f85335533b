package inside

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
)

// Main is a program of its own: the agent and the commands of this family. Any
// other command is run by the whole of coder, which is fetched for it. args
// begins with the program's name; environ is a list of key=value as os.Environ
// gives it. It gives the exit status.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	if AsksForLogin(args, environ) {
		return Login(ctx, args[1], stdout, stderr, environ)
	}
	if name := firstWord(args); name != "" && !knows(args) {
		tree := func(a *app.Run) *app.Command {
			return &app.Command{Name: "coder", Max: -1, StopAt: 1, Run: func(ctx context.Context, _ []string) error { return whole(ctx, a, args) }}
		}
		return app.Main(ctx, []string{args[0], name}, stdin, stdout, stderr, environ, tree)
	}
	return app.Main(ctx, args, stdin, stdout, stderr, environ, root)
}

// root is the tree of the commands that this program has itself.
func root(a *app.Run) *app.Command {
	return &app.Command{
		Name: "coder", Args: "[global-flags] <subcommand>", RawUsage: true,
		Short: "The part of coder that a workspace needs.",
		Long: "Serves inside of a workspace, and has the commands that are used there. For every other command it " +
			"fetches the whole of coder from the workspace's server, once for each version.",
		Subs: append(Commands(a), a.VersionCommand(), a.CompletionCommand()),
	}
}

// firstWord is the first argument that is no flag, which is the command unless
// it is the value of a global flag.
func firstWord(args []string) string {
	for _, a := range args[min(1, len(args)):] {
		if !strings.HasPrefix(a, "-") {
			return a
		}
	}
	return ""
}

// knows says whether the command of args is one of ours. Of the experiments only
// sync is, so there the second word tells.
func knows(args []string) bool {
	subs := app.New(strings.NewReader(""), io.Discard, io.Discard, nil, root).Root.Subs
	known := func(name string) int {
		return slices.IndexFunc(subs, func(c *app.Command) bool { return c.Name == name })
	}
	at := known(firstWord(args))
	if at < 0 || subs[at].Name != experiments {
		return at >= 0
	}
	rest := args[slices.Index(args, experiments):]
	subs = subs[at].Subs
	return firstWord(rest) == "" || known(firstWord(rest)) >= 0
}
