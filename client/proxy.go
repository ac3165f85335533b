package client

import (
	"context"
	"net/url"

	"github.com/seed-2a7f8fe7/coder"
)

// ProxyTokenHeader carries the token of a workspace proxy.
const ProxyTokenHeader = "Coder-External-Proxy-Token"

// WorkspaceProxies calls GET /workspaceproxies.
func (c *Client) WorkspaceProxies(ctx context.Context) ([]coder.WorkspaceProxy, error) {
	var out coder.WorkspaceProxiesRegions
	err := c.do(ctx, "GET", "/workspaceproxies", nil, nil, &out)
	return out.Regions, err
}

// WorkspaceProxy calls GET /workspaceproxies/{workspaceproxy} with an id or a name.
func (c *Client) WorkspaceProxy(ctx context.Context, ref string) (out coder.WorkspaceProxy, err error) {
	err = c.do(ctx, "GET", "/workspaceproxies/"+url.PathEscape(ref), nil, nil, &out)
	return out, err
}

// CreateWorkspaceProxy calls POST /workspaceproxies.
func (c *Client) CreateWorkspaceProxy(ctx context.Context, req coder.CreateWorkspaceProxyRequest) (out coder.WorkspaceProxyToken, err error) {
	err = c.do(ctx, "POST", "/workspaceproxies", nil, req, &out)
	return out, err
}

// UpdateWorkspaceProxy calls PATCH /workspaceproxies/{workspaceproxy}.
func (c *Client) UpdateWorkspaceProxy(ctx context.Context, req coder.PatchWorkspaceProxy) (out coder.WorkspaceProxyToken, err error) {
	err = c.do(ctx, "PATCH", "/workspaceproxies/"+req.ID.String(), nil, req, &out)
	return out, err
}

// DeleteWorkspaceProxy calls DELETE /workspaceproxies/{workspaceproxy}.
func (c *Client) DeleteWorkspaceProxy(ctx context.Context, ref string) error {
	return c.do(ctx, "DELETE", "/workspaceproxies/"+url.PathEscape(ref), nil, nil, nil)
}
