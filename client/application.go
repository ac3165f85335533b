package client

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// AppHost calls GET /applications/host.
func (c *Client) AppHost(ctx context.Context) (out coder.AppHostResponse, err error) {
	err = c.do(ctx, "GET", "/applications/host", nil, nil, &out)
	return out, err
}

// Regions calls GET /regions.
func (c *Client) Regions(ctx context.Context) (out coder.RegionsResponse, err error) {
	err = c.do(ctx, "GET", "/regions", nil, nil, &out)
	return out, err
}

// IssueTerminalToken calls POST /applications/reconnecting-pty-signed-token.
func (c *Client) IssueTerminalToken(ctx context.Context, req coder.IssueReconnectingPTYSignedTokenRequest) (out coder.IssueReconnectingPTYSignedTokenResponse, err error) {
	err = c.do(ctx, "POST", "/applications/reconnecting-pty-signed-token", nil, req, &out)
	return out, err
}

// PortShares calls GET /workspaces/{id}/port-share.
func (c *Client) PortShares(ctx context.Context, workspace uuid.UUID) (out coder.WorkspaceAgentPortShares, err error) {
	err = c.do(ctx, "GET", "/workspaces/"+workspace.String()+"/port-share", nil, nil, &out)
	return out, err
}

// SharePort calls POST /workspaces/{id}/port-share.
func (c *Client) SharePort(ctx context.Context, workspace uuid.UUID, req coder.UpsertWorkspaceAgentPortShareRequest) (out coder.WorkspaceAgentPortShare, err error) {
	err = c.do(ctx, "POST", "/workspaces/"+workspace.String()+"/port-share", nil, req, &out)
	return out, err
}

// UnsharePort calls DELETE /workspaces/{id}/port-share.
func (c *Client) UnsharePort(ctx context.Context, workspace uuid.UUID, req coder.DeleteWorkspaceAgentPortShareRequest) error {
	return c.do(ctx, "DELETE", "/workspaces/"+workspace.String()+"/port-share", nil, req, nil)
}

// PatchAppStatus calls PATCH /workspaceagents/me/app-status with an agent's token.
func (c *Client) PatchAppStatus(ctx context.Context, req coder.PatchAppStatus) error {
	return c.do(ctx, "PATCH", "/workspaceagents/me/app-status", nil, req, nil)
}
