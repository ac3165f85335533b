// Package cli is the command line: the root of the tree of commands, whose
// branches are the families in the rooms below.
//
// A family is a room with a function Commands: people (who uses the server),
// template, workspace, remote (the ways into a workspace), provisioner, serve
// (the control plane itself) and inside (what runs in a workspace). A family
// imports app, the floor that all stand on, and may import build, which finds
// workspaces and templates and runs builds for several of them; it never
// imports another family. So each process is linked by one room only: the agent
// by inside, the tunnel by remote, Terraform and the server by provisioner and
// serve. A program with fewer families is another root.
//
// The tests here run whole commands, and hold every name, flag, variable and
// default of the tree to the contract.
package cli

import (
	"context"
	"io"
	"slices"

	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/inside"
	"github.com/seed-2a7f8fe7/coder/internal/cli/people"
	"github.com/seed-2a7f8fe7/coder/internal/cli/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/cli/remote"
	"github.com/seed-2a7f8fe7/coder/internal/cli/serve"
	"github.com/seed-2a7f8fe7/coder/internal/cli/template"
	"github.com/seed-2a7f8fe7/coder/internal/cli/workspace"
)

// Main runs the command that args name, the program's name first, and gives
// the exit status. environ is a list of key=value as os.Environ gives it.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	if inside.AsksForLogin(args, environ) {
		return inside.Login(ctx, args[1], stdout, stderr, environ)
	}
	return app.Main(ctx, args, stdin, stdout, stderr, environ, rootCommand)
}

// rootCommand is coder itself, with the commands of every family below it.
func rootCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "coder", Args: "[global-flags] <subcommand>", RawUsage: true,
		Short: "Remote development environments on your own infrastructure.",
		Long: "One program for everybody: it runs the control plane, provisions workspaces, serves " +
			"inside of them, and is the command line with which you reach them.",
		Examples: []app.Example{
			{Text: "Start a control plane with its own PostgreSQL", Line: "coder server"},
			{Text: "Sign in", Line: "coder login http://127.0.0.1:3000"},
			{Text: "Make a template from a starter and upload it", Line: "coder templates init --id docker ./docker && coder templates push -d ./docker"},
			{Text: "Make a workspace and open a shell in it", Line: "coder create --template docker dev && coder ssh dev"},
		},
		Subs: slices.Concat(
			people.Commands(a), []*app.Command{people.ProxyCommand(a, serve.ProxyServerCommand(a)), a.VersionCommand(), a.CompletionCommand()}, template.Commands(a), workspace.Commands(a),
			remote.Commands(a), serve.Commands(a), provisioner.Commands(a), inside.Commands(a),
		),
	}
}
