package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/mcp/toolkit"
)

// portTools are the tools on ports and apps of a workspace.
var portTools = []Tool{
	toolkit.New(toolkit.Spec{
		Name: "coder_workspace_list_ports", Title: "List the ports of a workspace",
		Description: "List the ports on which programs in a running workspace listen, and the shared ports.",
		Scopes:      reach,
	}, listPorts),
	toolkit.New(toolkit.Spec{
		Name: "coder_workspace_port_forward", Title: "Get the address of a port",
		Description: "Get the URL at which the workspace's owner opens a port of a running workspace in the browser.",
		Scopes:      []codersdk.APIKeyScope{"workspace:read"},
	}, portForward),
	toolkit.New(toolkit.Spec{
		Name: "coder_workspace_share_port", Title: "Share a port of a workspace",
		Description: "Let other users open a port of a workspace, or change who may. The level public needs no sign-in.",
		Effect:      toolkit.Destructive, Idempotent: true, OpenWorld: true,
		Scopes: []codersdk.APIKeyScope{"workspace:read", "workspace:update"},
	}, sharePort),
	toolkit.New(toolkit.Spec{
		Name: "coder_workspace_unshare_port", Title: "Stop sharing a port of a workspace",
		Description: "Stop sharing a port of a workspace with other users.",
		Effect:      toolkit.Destructive, Idempotent: true,
		Scopes: []codersdk.APIKeyScope{"workspace:read", "workspace:update"},
	}, unsharePort),
	toolkit.New(toolkit.Spec{
		Name: "coder_workspace_list_apps", Title: "List the apps of a workspace",
		Description: "List the apps of a workspace with the URLs at which its owner opens them.",
		Scopes:      []codersdk.APIKeyScope{"workspace:read"},
	}, listApps),
}

type portView struct {
	Port    int32  `json:"port"`
	Process string `json:"process,omitempty"`
	URL     string `json:"url,omitempty"`
}

type shareView struct {
	Agent    string                                   `json:"agent"`
	Port     int32                                    `json:"port"`
	Protocol codersdk.WorkspaceAgentPortShareProtocol `json:"protocol"`
	Level    codersdk.WorkspaceAgentPortShareLevel    `json:"share_level"`
}

type portsOutput struct {
	Listening []portView  `json:"listening"`
	Shared    []shareView `json:"shared"`
}

// urlOf returns the URL of an app or port of an agent at the wildcard host of the
// server, "" if the server has none.
func urlOf(ctx context.Context, c *Caller, label string) (string, error) {
	host, err := c.Client.AppHost(ctx)
	if err != nil || host.Host == "" {
		return "", err
	}
	return c.AccessURL.Scheme + "://" + strings.Replace(host.Host, "*", label, 1), nil
}

func portURL(ctx context.Context, c *Caller, t target, agent codersdk.WorkspaceAgent, port int32) (string, error) {
	return urlOf(ctx, c, fmt.Sprintf("%d--%s--%s--%s", port, agent.Name, t.workspace.Name, t.workspace.OwnerName))
}

func listPorts(ctx context.Context, c *Caller, in inWorkspace) (out portsOutput, err error) {
	t, err := findWorkspace(ctx, c, in.Workspace)
	if err != nil {
		return out, err
	}
	agent, err := t.connectedAgent()
	if err != nil {
		return out, err
	}
	ports, err := c.Client.WorkspaceAgentListeningPorts(ctx, agent.ID)
	if err != nil {
		return out, err
	}
	shares, err := c.Client.PortShares(ctx, t.workspace.ID)
	if err != nil {
		return out, err
	}
	pattern, err := urlOf(ctx, c, "{port}--"+agent.Name+"--"+t.workspace.Name+"--"+t.workspace.OwnerName)
	out = portsOutput{Listening: []portView{}, Shared: []shareView{}}
	for _, p := range ports.Ports {
		out.Listening = append(out.Listening, portView{Port: p.Port, Process: p.ProcessName, URL: strings.Replace(pattern, "{port}", fmt.Sprint(p.Port), 1)})
	}
	for _, s := range shares.Shares {
		out.Shared = append(out.Shared, shareView{Agent: s.AgentName, Port: s.Port, Protocol: s.Protocol, Level: s.ShareLevel})
	}
	return out, err
}

type portInput struct {
	inWorkspace
	Port int32 `json:"port" jsonschema:"TCP port in the workspace" min:"1" max:"65535"`
}

func portForward(ctx context.Context, c *Caller, in portInput) (string, error) {
	t, err := findWorkspace(ctx, c, in.Workspace)
	if err != nil {
		return "", err
	}
	agent, err := t.connectedAgent()
	if err != nil {
		return "", err
	}
	address, err := portURL(ctx, c, t, agent, in.Port)
	if err == nil && address == "" {
		err = codersdk.Errorf(codersdk.CodePrecondition,
			"The server has no wildcard host for ports; run 'coder port-forward %s --tcp %d' on the user's machine instead", t.workspace.Name, in.Port)
	}
	return address, err
}

type sharePortInput struct {
	portInput
	Level    string `json:"share_level" jsonschema:"Users who can open the port" enum:"owner,organization,authenticated,public"`
	Protocol string `json:"protocol,omitempty" jsonschema:"Protocol that the program speaks" enum:"http,https" default:"http"`
}

func sharePort(ctx context.Context, c *Caller, in sharePortInput) (shareView, error) {
	t, err := findWorkspace(ctx, c, in.Workspace)
	if err != nil {
		return shareView{}, err
	}
	agent, err := t.oneAgent()
	if err != nil {
		return shareView{}, err
	}
	s, err := c.Client.SharePort(ctx, t.workspace.ID, codersdk.UpsertWorkspaceAgentPortShareRequest{
		AgentName: agent.Name, Port: in.Port, Protocol: codersdk.WorkspaceAgentPortShareProtocol(in.Protocol),
		ShareLevel: codersdk.WorkspaceAgentPortShareLevel(in.Level),
	})
	return shareView{Agent: s.AgentName, Port: s.Port, Protocol: s.Protocol, Level: s.ShareLevel}, err
}

func unsharePort(ctx context.Context, c *Caller, in portInput) (string, error) {
	t, err := findWorkspace(ctx, c, in.Workspace)
	if err != nil {
		return "", err
	}
	agent, err := t.oneAgent()
	if err != nil {
		return "", err
	}
	if err := c.Client.UnsharePort(ctx, t.workspace.ID, codersdk.DeleteWorkspaceAgentPortShareRequest{AgentName: agent.Name, Port: in.Port}); err != nil {
		return "", err
	}
	return "The port is no longer shared.", nil
}

type appURLView struct {
	appView
	Agent string `json:"agent"`
	URL   string `json:"url,omitempty"`
}

func listApps(ctx context.Context, c *Caller, in inWorkspace) ([]appURLView, error) {
	t, err := findWorkspace(ctx, c, in.Workspace)
	if err != nil {
		return nil, err
	}
	host, err := c.Client.AppHost(ctx)
	if err != nil {
		return nil, err
	}
	out := []appURLView{}
	for _, r := range t.workspace.LatestBuild.Resources {
		for _, a := range r.Agents {
			for _, app := range a.Apps {
				v := appURLView{appView: appView{Slug: app.Slug, Name: app.DisplayName, Health: app.Health}, Agent: a.Name}
				switch {
				case app.Command != "":
				case app.External:
					v.URL = app.URL
				case app.Subdomain && host.Host != "":
					v.URL = c.AccessURL.Scheme + "://" + strings.Replace(host.Host, "*", app.SubdomainName, 1)
				case !app.Subdomain:
					v.URL = c.AccessURL.JoinPath("@"+t.workspace.OwnerName, t.workspace.Name+"."+a.Name, "apps", app.Slug).String() + "/"
				}
				out = append(out, v)
			}
		}
	}
	return out, nil
}
