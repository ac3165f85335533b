package codersdk

import (
	"context"
	"net/url"

	"github.com/google/uuid"
)

// WorkspaceAgent calls GET /workspaceagents/{id}.
func (c *Client) WorkspaceAgent(ctx context.Context, id uuid.UUID) (out WorkspaceAgent, err error) {
	err = c.do(ctx, "GET", "/workspaceagents/"+id.String(), nil, nil, &out)
	return out, err
}

// WorkspaceAgentLogs calls GET /workspaceagents/{id}/logs.
func (c *Client) WorkspaceAgentLogs(ctx context.Context, id uuid.UUID, q url.Values) (out []WorkspaceAgentLog, err error) {
	err = c.do(ctx, "GET", "/workspaceagents/"+id.String()+"/logs", q, nil, &out)
	return out, err
}

// WorkspaceAgentListeningPorts calls GET /workspaceagents/{id}/listening-ports.
func (c *Client) WorkspaceAgentListeningPorts(ctx context.Context, id uuid.UUID) (out WorkspaceAgentListeningPortsResponse, err error) {
	err = c.do(ctx, "GET", "/workspaceagents/"+id.String()+"/listening-ports", nil, nil, &out)
	return out, err
}

// PutAgentLogSource calls POST /workspaceagents/me/log-source with an agent's token.
// It names a source of the agent's log lines.
func (c *Client) PutAgentLogSource(ctx context.Context, id uuid.UUID, displayName, icon string) error {
	req := map[string]string{"id": id.String(), "display_name": displayName, "icon": icon}
	return c.do(ctx, "POST", "/workspaceagents/me/log-source", nil, req, nil)
}

// WorkspaceAgentContainers calls GET /workspaceagents/{id}/containers. Labels are
// filters of the form key=value or key; nil selects all containers.
func (c *Client) WorkspaceAgentContainers(ctx context.Context, id uuid.UUID, labels []string) (out WorkspaceAgentListContainersResponse, err error) {
	err = c.do(ctx, "GET", "/workspaceagents/"+id.String()+"/containers", url.Values{"label": labels}, nil, &out)
	return out, err
}

// RecreateWorkspaceAgentDevcontainer calls POST
// /workspaceagents/{id}/containers/devcontainers/{devcontainer}/recreate, which
// returns once the work has started.
func (c *Client) RecreateWorkspaceAgentDevcontainer(ctx context.Context, id, devcontainer uuid.UUID) error {
	return c.do(ctx, "POST", "/workspaceagents/"+id.String()+"/containers/devcontainers/"+devcontainer.String()+"/recreate", nil, nil, nil)
}

// DeleteWorkspaceAgentDevcontainer calls DELETE
// /workspaceagents/{id}/containers/devcontainers/{devcontainer}.
func (c *Client) DeleteWorkspaceAgentDevcontainer(ctx context.Context, id, devcontainer uuid.UUID) error {
	return c.do(ctx, "DELETE", "/workspaceagents/"+id.String()+"/containers/devcontainers/"+devcontainer.String(), nil, nil, nil)
}
