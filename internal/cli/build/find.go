package build

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// Target names a workspace and optionally one of its agents:
// [owner/]workspace[.agent].
type Target struct{ Owner, Workspace, Agent string }

// ParseTarget parses the name of a workspace. owner defaults to "me". Host
// names cannot contain a slash, so owner--workspace--agent is accepted too.
func ParseTarget(s string) (Target, error) {
	t := Target{Owner: "me", Workspace: s}
	if owner, rest, ok := strings.Cut(s, "/"); ok {
		t.Owner, t.Workspace = owner, rest
	} else if parts := strings.Split(s, "--"); len(parts) == 2 || len(parts) == 3 {
		t.Owner, t.Workspace = parts[0], strings.Join(parts[1:], ".")
	}
	var dotted bool
	t.Workspace, t.Agent, dotted = strings.Cut(t.Workspace, ".")
	if t.Owner == "" || t.Workspace == "" || dotted && t.Agent == "" || strings.ContainsAny(t.Workspace+t.Agent, "/ ") {
		return t, command.Failure("%q is not a workspace name; use [owner/]workspace[.agent]", s)
	}
	return t, nil
}

// Workspace returns the workspace that ref names, and the agent's part of ref.
func Workspace(ctx context.Context, a *command.Run, c *codersdk.Client, ref string) (codersdk.Workspace, string, error) {
	t, err := ParseTarget(ref)
	if err != nil {
		return codersdk.Workspace{}, "", err
	}
	w, err := c.WorkspaceByOwnerAndName(ctx, t.Owner, t.Workspace, nil)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		whose := "you have no workspace " + t.Workspace
		if t.Owner != "me" {
			whose = t.Owner + " has no workspace " + t.Workspace + ", or you may not see it"
		}
		return w, "", codersdk.Errorf(codersdk.CodeNotFound, "%s; 'coder list' shows the existing ones", whose)
	}
	return w, t.Agent, err
}

// clientAndWorkspace returns the client and the workspace of a command.
func clientAndWorkspace(ctx context.Context, a *command.Run, ref string) (*codersdk.Client, codersdk.Workspace, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return nil, codersdk.Workspace{}, err
	}
	w, _, err := Workspace(ctx, a, c, ref)
	return c, w, err
}

// Names returns a completion function for the user's own workspaces.
func Names(a *command.Run) func(context.Context) []string {
	return func(ctx context.Context) []string {
		c, err := a.Client(ctx)
		if err != nil {
			return nil
		}
		page, err := c.Workspaces(ctx, url.Values{"q": {"owner:me"}, "limit": {"100"}})
		if err != nil {
			return nil
		}
		var names []string
		for _, w := range page.Workspaces {
			names = append(names, w.Name)
		}
		return names
	}
}

// OnWorkspace completes a command on one workspace: do gets the client and the
// workspace that the first argument names.
func OnWorkspace(a *command.Run, c command.Command, do func(context.Context, *codersdk.Client, codersdk.Workspace, []string) error) *command.Command {
	c.Complete = Names(a)
	if c.Min == 0 {
		c.Min, c.Max = 1, 1
	}
	c.Run = func(ctx context.Context, args []string) error {
		cl, w, err := clientAndWorkspace(ctx, a, args[0])
		if err != nil {
			return err
		}
		return do(ctx, cl, w, args[1:])
	}
	return &c
}

// ExternalAgents returns the names of a workspace's external agents, which its owner
// starts on a machine of their own.
func ExternalAgents(w codersdk.Workspace) (names []string) {
	for _, r := range w.LatestBuild.Resources {
		if r.Type != "coder_external_agent" {
			continue
		}
		for _, agent := range r.Agents {
			names = append(names, agent.Name)
		}
	}
	slices.Sort(names)
	return names
}
