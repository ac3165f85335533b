package codersdk

import (
	"context"
	"net/url"
	"strconv"

	"github.com/google/uuid"
)

// CreateWorkspaceBuild calls POST /workspaces/{id}/builds.
func (c *Client) CreateWorkspaceBuild(ctx context.Context, id uuid.UUID, req CreateWorkspaceBuildRequest) (out WorkspaceBuild, err error) {
	err = c.do(ctx, "POST", "/workspaces/"+id.String()+"/builds", nil, req, &out)
	return out, err
}

// WorkspaceBuilds calls GET /workspaces/{id}/builds.
func (c *Client) WorkspaceBuilds(ctx context.Context, id uuid.UUID, q url.Values) (out []WorkspaceBuild, err error) {
	err = c.do(ctx, "GET", "/workspaces/"+id.String()+"/builds", q, nil, &out)
	return out, err
}

// WorkspaceBuild calls GET /workspacebuilds/{id}.
func (c *Client) WorkspaceBuild(ctx context.Context, id uuid.UUID) (out WorkspaceBuild, err error) {
	err = c.do(ctx, "GET", "/workspacebuilds/"+id.String(), nil, nil, &out)
	return out, err
}

// WorkspaceBuildByNumber calls GET /users/{user}/workspace/{name}/builds/{number}.
func (c *Client) WorkspaceBuildByNumber(ctx context.Context, user string, name string, number int32) (out WorkspaceBuild, err error) {
	err = c.do(ctx, "GET", "/users/"+url.PathEscape(user)+"/workspace/"+url.PathEscape(name)+"/builds/"+strconv.Itoa(int(number)), nil, nil, &out)
	return out, err
}

// CancelWorkspaceBuild calls PATCH /workspacebuilds/{id}/cancel.
func (c *Client) CancelWorkspaceBuild(ctx context.Context, id uuid.UUID, q url.Values) error {
	return c.do(ctx, "PATCH", "/workspacebuilds/"+id.String()+"/cancel", q, nil, nil)
}

// WorkspaceBuildLogs calls GET /workspacebuilds/{id}/logs.
func (c *Client) WorkspaceBuildLogs(ctx context.Context, id uuid.UUID, q url.Values) (out []ProvisionerJobLog, err error) {
	err = c.do(ctx, "GET", "/workspacebuilds/"+id.String()+"/logs", q, nil, &out)
	return out, err
}

// WorkspaceBuildParameters calls GET /workspacebuilds/{id}/parameters.
func (c *Client) WorkspaceBuildParameters(ctx context.Context, id uuid.UUID) (out []WorkspaceBuildParameter, err error) {
	err = c.do(ctx, "GET", "/workspacebuilds/"+id.String()+"/parameters", nil, nil, &out)
	return out, err
}

// WorkspaceBuildResources calls GET /workspacebuilds/{id}/resources.
func (c *Client) WorkspaceBuildResources(ctx context.Context, id uuid.UUID) (out []WorkspaceResource, err error) {
	err = c.do(ctx, "GET", "/workspacebuilds/"+id.String()+"/resources", nil, nil, &out)
	return out, err
}

// WorkspaceBuildTimings calls GET /workspacebuilds/{id}/timings.
func (c *Client) WorkspaceBuildTimings(ctx context.Context, id uuid.UUID) (out WorkspaceBuildTimings, err error) {
	err = c.do(ctx, "GET", "/workspacebuilds/"+id.String()+"/timings", nil, nil, &out)
	return out, err
}

// UpdateWorkspaceBuildState calls PUT /workspacebuilds/{id}/state.
func (c *Client) UpdateWorkspaceBuildState(ctx context.Context, id uuid.UUID, req UpdateWorkspaceBuildStateRequest) error {
	return c.do(ctx, "PUT", "/workspacebuilds/"+id.String()+"/state", nil, req, nil)
}
