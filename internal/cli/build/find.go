package build

import (
	"context"
	"net/url"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
)

// Target is a workspace, and perhaps one of its agents, as people name them:
// [owner/]workspace[.agent].
type Target struct{ Owner, Workspace, Agent string }

// ParseTarget reads a name. owner is "me" when it is not given. A host name
// has no slash: there owner--workspace--agent says the same.
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
		return t, app.Failure("%q does not name a workspace; write [owner/]workspace[.agent]", s)
	}
	return t, nil
}

// Workspace finds a workspace by [owner/]name, and gives the agent's part too.
func Workspace(ctx context.Context, a *app.Run, c *client.Client, ref string) (coder.Workspace, string, error) {
	t, err := ParseTarget(ref)
	if err != nil {
		return coder.Workspace{}, "", err
	}
	w, err := c.WorkspaceByOwnerAndName(ctx, t.Owner, t.Workspace, nil)
	if coder.Is(err, coder.CodeNotFound) {
		whose := "you have no workspace " + t.Workspace
		if t.Owner != "me" {
			whose = t.Owner + " has no workspace " + t.Workspace + ", or you may not see it"
		}
		return w, "", coder.Errorf(coder.CodeNotFound, "%s; 'coder list' shows those that are there", whose)
	}
	return w, t.Agent, err
}

// clientAndWorkspace is what most commands of a workspace begin with.
func clientAndWorkspace(ctx context.Context, a *app.Run, ref string) (*client.Client, coder.Workspace, error) {
	c, err := a.Client(ctx)
	if err != nil {
		return nil, coder.Workspace{}, err
	}
	w, _, err := Workspace(ctx, a, c, ref)
	return c, w, err
}

// Names completes the user's own workspaces.
func Names(a *app.Run) func(context.Context) []string {
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

// OnWorkspace is a command of one workspace whose work is one request.
func OnWorkspace(a *app.Run, c app.Command, do func(context.Context, *client.Client, coder.Workspace, []string) error) *app.Command {
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
