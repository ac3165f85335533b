package tools

import (
	"context"
	"log/slog"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/machine"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
)

// Caller is the user for whom the tools act.
type Caller struct {
	// Client has the token of the user.
	Client *codersdk.Client
	// AccessURL is where users reach the server.
	AccessURL *url.URL
	// Log receives the log of tunnels; nil logs nothing.
	Log *slog.Logger
	// NoDirect is the reason for no direct connection to agents; "" allows them.
	NoDirect string
}

// Tool is a tool of this package.
type Tool = toolkit.Tool[*Caller]

// All returns the tools, in the order in which clients show them.
func All() []Tool {
	return slices.Concat(userTools, workspaceTools, operateTools, templateTools, versionTools, logTools, commandTools, fileTools, portTools, searchTools)
}

// Scopes returns the scopes that the tools use, sorted.
func Scopes() []codersdk.APIKeyScope {
	var out []codersdk.APIKeyScope
	for _, t := range All() {
		out = append(out, t.Scopes...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// me names the user of the token in paths of the API.
const me = "me"

// target is a workspace and optionally one of its agents.
type target struct {
	workspace codersdk.Workspace
	agent     string
}

// findWorkspace returns the workspace that ref names: [owner/]workspace[.agent], or
// its ID.
func findWorkspace(ctx context.Context, c *Caller, ref string) (target, error) {
	if id, err := uuid.Parse(ref); err == nil {
		w, err := c.Client.Workspace(ctx, id, nil)
		return target{workspace: w}, err
	}
	owner, name := me, ref
	if before, after, ok := strings.Cut(ref, "/"); ok {
		owner, name = before, after
	}
	name, agent, _ := strings.Cut(name, ".")
	if owner == "" || name == "" || strings.Contains(name, "/") {
		return target{}, codersdk.Invalid("workspace", "%.64q is neither a workspace name, such as dev or owner/dev.main, nor an ID", ref)
	}
	w, err := c.Client.WorkspaceByOwnerAndName(ctx, owner, name, nil)
	return target{workspace: w, agent: agent}, err
}

// oneAgent returns the agent of a target: the named one, or the only one.
func (t target) oneAgent() (codersdk.WorkspaceAgent, error) {
	var found []codersdk.WorkspaceAgent
	var names []string
	for _, r := range t.workspace.LatestBuild.Resources {
		for _, a := range r.Agents {
			names = append(names, a.Name)
			if a.Name == t.agent || t.agent == "" && a.ParentID == nil {
				found = append(found, a)
			}
		}
	}
	name := t.workspace.Name
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return codersdk.WorkspaceAgent{}, codersdk.Errorf(codersdk.CodeNotFound,
			"Workspace %s, whose status is %s, has no such agent; its agents are: %s", name, t.workspace.LatestBuild.Status, strings.Join(names, ", "))
	}
	return codersdk.WorkspaceAgent{}, codersdk.Invalid("workspace", "workspace %s has several agents; select one of %s as %s.<agent>",
		name, strings.Join(names, ", "), name)
}

// connectedAgent returns the agent of a target, which is running and connected.
func (t target) connectedAgent() (codersdk.WorkspaceAgent, error) {
	w := t.workspace
	if w.LatestBuild.Status != codersdk.WorkspaceStatusRunning {
		return codersdk.WorkspaceAgent{}, codersdk.Errorf(codersdk.CodePrecondition,
			"Workspace %s is not running, its status is %s; start it with coder_start_workspace", w.Name, w.LatestBuild.Status)
	}
	a, err := t.oneAgent()
	if err == nil && a.Status != codersdk.WorkspaceAgentStatusConnected {
		err = codersdk.Errorf(codersdk.CodePrecondition,
			"Agent %s of workspace %s is not connected, its status is %s; coder_get_workspace_agent_logs has its log", a.Name, w.Name, a.Status)
	}
	return a, err
}

// dial connects to the agent of the workspace that ref names.
func (c *Caller) dial(ctx context.Context, ref string) (*machine.Machine, error) {
	t, err := findWorkspace(ctx, c, ref)
	if err != nil {
		return nil, err
	}
	agent, err := t.connectedAgent()
	if err != nil {
		return nil, err
	}
	return machine.Dial(ctx, c.Client, agent.ID, machine.Options{Log: c.Log, NoDirect: c.NoDirect, OS: agent.OperatingSystem})
}
