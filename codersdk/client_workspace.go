package codersdk

import (
	"context"
	"net/url"

	"github.com/google/uuid"
)

// Workspaces calls GET /workspaces.
func (c *Client) Workspaces(ctx context.Context, q url.Values) (out WorkspacesResponse, err error) {
	err = c.do(ctx, "GET", "/workspaces", q, nil, &out)
	return out, err
}

// Workspace calls GET /workspaces/{id}.
func (c *Client) Workspace(ctx context.Context, id uuid.UUID, q url.Values) (out Workspace, err error) {
	err = c.do(ctx, "GET", "/workspaces/"+id.String(), q, nil, &out)
	return out, err
}

// WorkspaceByOwnerAndName calls GET /users/{user}/workspace/{name}.
func (c *Client) WorkspaceByOwnerAndName(ctx context.Context, user string, name string, q url.Values) (out Workspace, err error) {
	err = c.do(ctx, "GET", "/users/"+url.PathEscape(user)+"/workspace/"+url.PathEscape(name), q, nil, &out)
	return out, err
}

// ExternalAgentCredentials calls GET /workspaces/{id}/external-agent/{agent}/credentials.
func (c *Client) ExternalAgentCredentials(ctx context.Context, id uuid.UUID, agent string) (out ExternalAgentCredentials, err error) {
	err = c.do(ctx, "GET", "/workspaces/"+id.String()+"/external-agent/"+url.PathEscape(agent)+"/credentials", nil, nil, &out)
	return out, err
}

// CreateWorkspace calls POST /users/{user}/workspaces.
func (c *Client) CreateWorkspace(ctx context.Context, user string, req CreateWorkspaceRequest) (out Workspace, err error) {
	err = c.do(ctx, "POST", "/users/"+url.PathEscape(user)+"/workspaces", nil, req, &out)
	return out, err
}

// UpdateWorkspace calls PATCH /workspaces/{id}.
func (c *Client) UpdateWorkspace(ctx context.Context, id uuid.UUID, req UpdateWorkspaceRequest) error {
	return c.do(ctx, "PATCH", "/workspaces/"+id.String(), nil, req, nil)
}

// UpdateWorkspaceAutostart calls PUT /workspaces/{id}/autostart.
func (c *Client) UpdateWorkspaceAutostart(ctx context.Context, id uuid.UUID, req UpdateWorkspaceAutostartRequest) error {
	return c.do(ctx, "PUT", "/workspaces/"+id.String()+"/autostart", nil, req, nil)
}

// UpdateWorkspaceTTL calls PUT /workspaces/{id}/ttl.
func (c *Client) UpdateWorkspaceTTL(ctx context.Context, id uuid.UUID, req UpdateWorkspaceTTLRequest) error {
	return c.do(ctx, "PUT", "/workspaces/"+id.String()+"/ttl", nil, req, nil)
}

// UpdateWorkspaceAutomaticUpdates calls PUT /workspaces/{id}/autoupdates.
func (c *Client) UpdateWorkspaceAutomaticUpdates(ctx context.Context, id uuid.UUID, req UpdateWorkspaceAutomaticUpdatesRequest) error {
	return c.do(ctx, "PUT", "/workspaces/"+id.String()+"/autoupdates", nil, req, nil)
}

// UpdateWorkspaceDormancy calls PUT /workspaces/{id}/dormant.
func (c *Client) UpdateWorkspaceDormancy(ctx context.Context, id uuid.UUID, req UpdateWorkspaceDormancy) (out Workspace, err error) {
	err = c.do(ctx, "PUT", "/workspaces/"+id.String()+"/dormant", nil, req, &out)
	return out, err
}

// ExtendWorkspace calls PUT /workspaces/{id}/extend.
func (c *Client) ExtendWorkspace(ctx context.Context, id uuid.UUID, req PutExtendWorkspaceRequest) error {
	return c.do(ctx, "PUT", "/workspaces/"+id.String()+"/extend", nil, req, nil)
}

// FavoriteWorkspace calls PUT /workspaces/{id}/favorite.
func (c *Client) FavoriteWorkspace(ctx context.Context, id uuid.UUID) error {
	return c.do(ctx, "PUT", "/workspaces/"+id.String()+"/favorite", nil, nil, nil)
}

// UnfavoriteWorkspace calls DELETE /workspaces/{id}/favorite.
func (c *Client) UnfavoriteWorkspace(ctx context.Context, id uuid.UUID) error {
	return c.do(ctx, "DELETE", "/workspaces/"+id.String()+"/favorite", nil, nil, nil)
}

// PostWorkspaceUsage calls POST /workspaces/{id}/usage.
func (c *Client) PostWorkspaceUsage(ctx context.Context, id uuid.UUID, req PostWorkspaceUsageRequest) error {
	return c.do(ctx, "POST", "/workspaces/"+id.String()+"/usage", nil, req, nil)
}

// ResolveAutostart calls GET /workspaces/{id}/resolve-autostart.
func (c *Client) ResolveAutostart(ctx context.Context, id uuid.UUID) (out ResolveAutostartResponse, err error) {
	err = c.do(ctx, "GET", "/workspaces/"+id.String()+"/resolve-autostart", nil, nil, &out)
	return out, err
}
