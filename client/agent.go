package client

import (
	"context"
	"net/url"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// WorkspaceAgent calls GET /workspaceagents/{id}.
func (c *Client) WorkspaceAgent(ctx context.Context, id uuid.UUID) (out coder.WorkspaceAgent, err error) {
	err = c.do(ctx, "GET", "/workspaceagents/"+id.String(), nil, nil, &out)
	return out, err
}

// WorkspaceAgentLogs calls GET /workspaceagents/{id}/logs.
func (c *Client) WorkspaceAgentLogs(ctx context.Context, id uuid.UUID, q url.Values) (out []coder.WorkspaceAgentLog, err error) {
	err = c.do(ctx, "GET", "/workspaceagents/"+id.String()+"/logs", q, nil, &out)
	return out, err
}

// WorkspaceAgentListeningPorts calls GET /workspaceagents/{id}/listening-ports.
func (c *Client) WorkspaceAgentListeningPorts(ctx context.Context, id uuid.UUID) (out coder.WorkspaceAgentListeningPortsResponse, err error) {
	err = c.do(ctx, "GET", "/workspaceagents/"+id.String()+"/listening-ports", nil, nil, &out)
	return out, err
}

// PutAgentLogSource calls POST /workspaceagents/me/log-source with an agent's token:
// it names what writes lines of the agent's log.
func (c *Client) PutAgentLogSource(ctx context.Context, id uuid.UUID, displayName, icon string) error {
	req := map[string]string{"id": id.String(), "display_name": displayName, "icon": icon}
	return c.do(ctx, "POST", "/workspaceagents/me/log-source", nil, req, nil)
}

// WorkspaceAgentContainers calls GET /workspaceagents/{id}/containers; labels are
// key=value or a key each, nil for all containers.
func (c *Client) WorkspaceAgentContainers(ctx context.Context, id uuid.UUID, labels []string) (out coder.WorkspaceAgentListContainersResponse, err error) {
	err = c.do(ctx, "GET", "/workspaceagents/"+id.String()+"/containers", url.Values{"label": labels}, nil, &out)
	return out, err
}

// RecreateWorkspaceAgentDevcontainer calls POST
// /workspaceagents/{id}/containers/devcontainers/{devcontainer}/recreate, which
// returns as soon as that has begun.
func (c *Client) RecreateWorkspaceAgentDevcontainer(ctx context.Context, id, devcontainer uuid.UUID) error {
	return c.do(ctx, "POST", "/workspaceagents/"+id.String()+"/containers/devcontainers/"+devcontainer.String()+"/recreate", nil, nil, nil)
}

// DeleteWorkspaceAgentDevcontainer calls DELETE
// /workspaceagents/{id}/containers/devcontainers/{devcontainer}.
func (c *Client) DeleteWorkspaceAgentDevcontainer(ctx context.Context, id, devcontainer uuid.UUID) error {
	return c.do(ctx, "DELETE", "/workspaceagents/"+id.String()+"/containers/devcontainers/"+devcontainer.String(), nil, nil, nil)
}
