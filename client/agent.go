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
