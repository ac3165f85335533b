// Package cli is the command line: the root of the command tree, whose branches
// are the packages below it.
//
// Each branch is a package with a function Commands or Command: user (accounts and
// organizations), token, license, template, workspace, remote (connections to
// workspaces), support, provisioner, server (the control plane), wsproxy, scale (load
// tests), mcpcmd (the Model Context Protocol), oauth2cmd (the OAuth2 provider), mirrorcmd
// (the provider mirror) and agentcmd (commands inside a workspace). A branch imports
// package command, the shared runtime, and may import package build, which finds workspaces and templates and runs builds. A
// branch never imports another branch. So each large dependency is
// linked by one branch only: the agent by agentcmd, the tunnel by remote,
// Terraform by provisioner, and the server by server. A program with fewer
// branches has another root.
//
// The tests here run whole commands, and check every name, flag, variable and
// default of the tree against the contract.
package cli

import (
	"context"
	"io"
	"slices"

	"github.com/seed-2a7f8fe7/coder/internal/cli/agentcmd"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/cli/externalauth"
	"github.com/seed-2a7f8fe7/coder/internal/cli/license"
	"github.com/seed-2a7f8fe7/coder/internal/cli/mcpcmd"
	"github.com/seed-2a7f8fe7/coder/internal/cli/mirrorcmd"
	"github.com/seed-2a7f8fe7/coder/internal/cli/oauth2cmd"
	"github.com/seed-2a7f8fe7/coder/internal/cli/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/cli/remote"
	"github.com/seed-2a7f8fe7/coder/internal/cli/scale"
	"github.com/seed-2a7f8fe7/coder/internal/cli/server"
	"github.com/seed-2a7f8fe7/coder/internal/cli/state"
	"github.com/seed-2a7f8fe7/coder/internal/cli/support"
	"github.com/seed-2a7f8fe7/coder/internal/cli/template"
	"github.com/seed-2a7f8fe7/coder/internal/cli/token"
	"github.com/seed-2a7f8fe7/coder/internal/cli/user"
	"github.com/seed-2a7f8fe7/coder/internal/cli/workspace"
	"github.com/seed-2a7f8fe7/coder/internal/cli/wsproxy"
)

// Main runs the command that args names and returns the exit status. args
// starts with the program name; environ is a list of key=value, like that of
// os.Environ.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	if externalauth.AsksForLogin(args, environ) {
		return externalauth.Login(ctx, args[1], stdout, stderr, environ)
	}
	return command.Main(ctx, args, command.Streams{In: stdin, Out: stdout, Err: stderr}, environ, rootCommand)
}

// rootCommand returns the root of the command tree with all branches.
func rootCommand(a *command.Run) *command.Command {
	a.Keyring = systemKeyring()
	return &command.Command{
		Name: "coder", Args: "[global-flags] <subcommand>", RawUsage: true,
		Short: "Self-hosted remote development environments",
		Long:  "One program contains the control plane, the provisioner, the workspace agent and the command-line client.",
		Examples: []command.Example{
			{Text: "Start a control plane with a built-in PostgreSQL", Line: "coder server"},
			{Text: "Sign in", Line: "coder login http://127.0.0.1:3000"},
			{Text: "Create a template from a starter template", Line: "coder templates init --id docker ./docker && coder templates push -d ./docker"},
			{Text: "Create a workspace and open a shell in it", Line: "coder create --template docker dev && coder ssh dev"},
		},
		Subs: slices.Concat(
			user.Commands(a),
			[]*command.Command{token.Command(a), license.FeaturesCommand(a), license.Command(a), oauth2cmd.Command(a), wsproxy.Command(a, server.ProxyServerCommand(a))},
			[]*command.Command{a.VersionCommand(), a.CompletionCommand()},
			template.Commands(a),
			workspace.Commands(a),
			[]*command.Command{state.Command(a)},
			remote.Commands(a),
			server.Commands(a),
			provisioner.Commands(a),
			mirrorcmd.Commands(a),
			agentcmd.Commands(a, scale.Command(a), mcpcmd.Command(a)),
			support.Commands(a),
		),
	}
}
