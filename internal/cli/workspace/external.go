package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// externalCommand returns the commands for workspaces whose agents run on
// machines that no template provisions. (WS-27)
func externalCommand(a *command.Run) *command.Command {
	var org string
	return &command.Command{
		Name:  "external-workspaces",
		Short: "Create and manage external workspaces",
		Long: "An external workspace runs on a machine that you provide. Its template declares a " +
			"coder_external_agent and the server provisions nothing. Start the agent on your machine with the " +
			"command that agent-instructions prints.",
		Args: "[flags] [subcommand]", RawUsage: true,
		Examples: []command.Example{
			{Text: "Create an external workspace and print its agent instructions", Line: "coder external-workspaces create lab --template external"},
			{Text: "Print the agent instructions as JSON", Line: "coder external-workspaces agent-instructions lab -o json"},
		},
		Options: []*option.Option{command.Org(&org)},
		Subs:    []*command.Command{externalCreateCommand(a, &org), externalInstructionsCommand(a, &org), externalListCommand(a, &org)},
	}
}

func externalCreateCommand(a *command.Run, org *string) *command.Command {
	o := createOptions{external: true}
	return &command.Command{
		Name: "create", Args: "[workspace]", Max: 1,
		Short: "Create an external workspace and print its agent instructions",
		Examples: []command.Example{
			{Text: "Create a workspace from the template \"external\"", Line: "coder external-workspaces create lab --template external --yes"},
		},
		Options: o.options(),
		Run: func(ctx context.Context, args []string) error {
			if o.org == "" {
				o.org = *org
			}
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			w, _, err := createWorkspace(ctx, a, c, args, &o)
			if err != nil {
				return err
			}
			if w, err = c.Workspace(ctx, w.ID, nil); err != nil {
				return err
			}
			for _, name := range build.ExternalAgents(w) {
				in, err := instructions(ctx, c, w, name)
				if err != nil {
					return err
				}
				if err := in.print(a); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// checkExternal returns an error for a template version without an external
// agent.
func checkExternal(ctx context.Context, c *codersdk.Client, t codersdk.Template, version uuid.UUID) error {
	v, err := c.TemplateVersion(ctx, version)
	if err != nil {
		return err
	}
	if !v.HasExternalAgent {
		return codersdk.Errorf(
			codersdk.CodeInvalid,
			"version %s of template %s has no external agent; create the workspace with 'coder create --template %s'",
			v.Name,
			t.Name,
			t.Name,
		)
	}
	return nil
}

// externalInstructions describes how to start an external agent. Scripts read
// its JSON.
type externalInstructions struct {
	WorkspaceName string `json:"workspace_name"`
	AgentName     string `json:"agent_name"`
	AuthType      string `json:"auth_type"` // always "token"
	AuthToken     string `json:"auth_token"`
	InitScript    string `json:"init_script"` // a command for the shell of the machine
}

func externalInstructionsCommand(a *command.Run, org *string) *command.Command {
	var format string
	return &command.Command{
		Name: "agent-instructions", Args: "[user/]workspace[.agent]", Min: 1, Max: 1,
		Short:    "Print the command that starts an external agent",
		Long:     "The output contains the agent's token. Keep it secret: anyone with the token can act as the agent.",
		Options:  []*option.Option{option.Choice(&format, "output", "Output format", "text", "json").Short("o").Def("text")},
		Complete: build.Names(a),
		Run: func(ctx context.Context, args []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			w, name, err := build.Workspace(ctx, a, c, args[0])
			if err != nil {
				return err
			}
			if *org != "" && *org != w.OrganizationName && *org != w.OrganizationID.String() {
				return codersdk.Errorf(codersdk.CodeNotFound, "workspace %s is in organization %s, not in %s", w.Name, w.OrganizationName, *org)
			}
			if name, err = pickExternal(w, name); err != nil {
				return err
			}
			in, err := instructions(ctx, c, w, name)
			if err != nil {
				return err
			}
			if format == "json" {
				return command.WriteJSON(a.Stdout, in)
			}
			return in.print(a)
		},
	}
}

// pickExternal returns the external agent of that name, or the only one.
func pickExternal(w codersdk.Workspace, name string) (string, error) {
	names := build.ExternalAgents(w)
	switch {
	case len(names) == 0 && w.LatestBuild.Transition != codersdk.WorkspaceTransitionStart:
		return "", codersdk.Errorf(codersdk.CodePrecondition, "workspace %s is stopped and has no agent; start it with 'coder start %s'", w.Name, w.Name)
	case len(names) == 0:
		return "", codersdk.Errorf(codersdk.CodeInvalid, "workspace %s has no external agent; connect to it with 'coder ssh %s'", w.Name, w.Name)
	case name != "" && !slices.Contains(names, name):
		return "", codersdk.Errorf(codersdk.CodeNotFound, "workspace %s has no external agent %q; it has %s", w.Name, name, strings.Join(names, ", "))
	case name == "" && len(names) > 1:
		return "", command.Failure("workspace %s has several external agents; select one of %s.%s", w.Name, w.Name, strings.Join(names, ", "+w.Name+"."))
	case name == "":
		return names[0], nil
	}
	return name, nil
}

// instructions requests an agent's token and the command that starts the agent.
func instructions(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, agent string) (externalInstructions, error) {
	out := externalInstructions{WorkspaceName: w.Name, AgentName: agent, AuthType: "token"}
	got, err := c.ExternalAgentCredentials(ctx, w.ID, agent)
	if err != nil {
		return out, fmt.Errorf("read the credentials of agent %s: %w", agent, err)
	}
	out.AuthToken, out.InitScript = got.AgentToken, got.Command
	return out, nil
}

// print writes the instructions as text.
func (in externalInstructions) print(a *command.Run) error {
	_, err := fmt.Fprintf(a.Stdout, "Run this command on the machine of workspace %s to start agent %s:\n\n%s\n\n",
		a.Painter(a.Stdout).Bold(in.WorkspaceName), in.AgentName, in.InitScript)
	return err
}

func externalListCommand(a *command.Run, org *string) *command.Command {
	return workspaceList(a, command.Command{
		Name: "list", Aliases: []string{"ls"}, Max: 0,
		Short: "List external workspaces",
	}, workspaceListing{
		columns: "workspace,template,status,healthy,last built,current version,outdated",
		noMatch: "No external workspaces found. Create one with 'coder external-workspaces create <name>'.",
		filter: func(ctx context.Context, c *codersdk.Client) (string, error) {
			filter := "has_external_agent:true"
			if *org == "" {
				return filter, nil
			}
			o, err := a.Organization(ctx, c, *org)
			return filter + " organization:" + o.Name, err
		},
	})
}
