package codersdk

import (
	"context"
	"net/url"

	"github.com/google/uuid"
)

// Groups calls GET /organizations/{organization}/groups.
func (c *Client) Groups(ctx context.Context, organization string) ([]Group, error) {
	return all[Group](ctx, c, "/organizations/"+url.PathEscape(organization)+"/groups", nil)
}

// GroupByName calls GET /organizations/{organization}/groups/{groupName}.
func (c *Client) GroupByName(ctx context.Context, organization string, name string) (out Group, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/groups/"+url.PathEscape(name), nil, nil, &out)
	return out, err
}

// CreateGroup calls POST /organizations/{organization}/groups.
func (c *Client) CreateGroup(ctx context.Context, organization string, req CreateGroupRequest) (out Group, err error) {
	err = c.do(ctx, "POST", "/organizations/"+url.PathEscape(organization)+"/groups", nil, req, &out)
	return out, err
}

// UpdateGroup calls PATCH /groups/{group}.
func (c *Client) UpdateGroup(ctx context.Context, id uuid.UUID, req PatchGroupRequest) (out Group, err error) {
	err = c.do(ctx, "PATCH", "/groups/"+id.String(), nil, req, &out)
	return out, err
}

// DeleteGroup calls DELETE /groups/{group}.
func (c *Client) DeleteGroup(ctx context.Context, id uuid.UUID) error {
	return c.do(ctx, "DELETE", "/groups/"+id.String(), nil, nil, nil)
}

// WorkspaceQuota calls GET /organizations/{organization}/members/{user}/workspace-quota.
func (c *Client) WorkspaceQuota(ctx context.Context, organization string, user string) (out WorkspaceQuota, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/members/"+url.PathEscape(user)+"/workspace-quota", nil, nil, &out)
	return out, err
}

// CreateOrganizationRole calls POST /organizations/{organization}/members/roles.
func (c *Client) CreateOrganizationRole(ctx context.Context, organization string, req CustomRoleRequest) (out Role, err error) {
	err = c.do(ctx, "POST", "/organizations/"+url.PathEscape(organization)+"/members/roles", nil, req, &out)
	return out, err
}

// UpdateOrganizationRole calls PUT /organizations/{organization}/members/roles.
func (c *Client) UpdateOrganizationRole(ctx context.Context, organization string, req CustomRoleRequest) (out Role, err error) {
	err = c.do(ctx, "PUT", "/organizations/"+url.PathEscape(organization)+"/members/roles", nil, req, &out)
	return out, err
}

// DeleteOrganizationRole calls DELETE /organizations/{organization}/members/roles/{roleName}.
func (c *Client) DeleteOrganizationRole(ctx context.Context, organization string, name string) error {
	return c.do(ctx, "DELETE", "/organizations/"+url.PathEscape(organization)+"/members/roles/"+url.PathEscape(name), nil, nil, nil)
}

// WorkspaceSharing calls GET /organizations/{organization}/settings/workspace-sharing.
func (c *Client) WorkspaceSharing(ctx context.Context, organization string) (out WorkspaceSharingSettings, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/settings/workspace-sharing", nil, nil, &out)
	return out, err
}

// OrganizationRules calls GET /organizations/{organization}/settings/rules.
func (c *Client) OrganizationRules(ctx context.Context, organization string) (out OrganizationRules, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/settings/rules", nil, nil, &out)
	return out, err
}

// UpdateOrganizationRules calls PUT /organizations/{organization}/settings/rules.
func (c *Client) UpdateOrganizationRules(ctx context.Context, organization string, req OrganizationRules) (out OrganizationRules, err error) {
	err = c.do(ctx, "PUT", "/organizations/"+url.PathEscape(organization)+"/settings/rules", nil, req, &out)
	return out, err
}

// UpdateWorkspaceSharing calls PATCH /organizations/{organization}/settings/workspace-sharing.
func (c *Client) UpdateWorkspaceSharing(ctx context.Context, organization string, req WorkspaceSharingSettings) (out WorkspaceSharingSettings, err error) {
	err = c.do(ctx, "PATCH", "/organizations/"+url.PathEscape(organization)+"/settings/workspace-sharing", nil, req, &out)
	return out, err
}

// WorkspaceACL calls GET /workspaces/{workspace}/acl.
func (c *Client) WorkspaceACL(ctx context.Context, id uuid.UUID) (out WorkspaceACL, err error) {
	err = c.do(ctx, "GET", "/workspaces/"+id.String()+"/acl", nil, nil, &out)
	return out, err
}

// UpdateWorkspaceACL calls PATCH /workspaces/{workspace}/acl.
func (c *Client) UpdateWorkspaceACL(ctx context.Context, id uuid.UUID, req UpdateWorkspaceACL) error {
	return c.do(ctx, "PATCH", "/workspaces/"+id.String()+"/acl", nil, req, nil)
}

// DeleteWorkspaceACL calls DELETE /workspaces/{workspace}/acl.
func (c *Client) DeleteWorkspaceACL(ctx context.Context, id uuid.UUID) error {
	return c.do(ctx, "DELETE", "/workspaces/"+id.String()+"/acl", nil, nil, nil)
}

// GroupSync calls GET /organizations/{organization}/settings/idpsync/groups.
func (c *Client) GroupSync(ctx context.Context, organization string) (out GroupSyncSettings, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/settings/idpsync/groups", nil, nil, &out)
	return out, err
}

// UpdateGroupSync calls PATCH /organizations/{organization}/settings/idpsync/groups.
func (c *Client) UpdateGroupSync(ctx context.Context, organization string, req GroupSyncSettings) (out GroupSyncSettings, err error) {
	err = c.do(ctx, "PATCH", "/organizations/"+url.PathEscape(organization)+"/settings/idpsync/groups", nil, req, &out)
	return out, err
}

// RoleSync calls GET /organizations/{organization}/settings/idpsync/roles.
func (c *Client) RoleSync(ctx context.Context, organization string) (out RoleSyncSettings, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/settings/idpsync/roles", nil, nil, &out)
	return out, err
}

// UpdateRoleSync calls PATCH /organizations/{organization}/settings/idpsync/roles.
func (c *Client) UpdateRoleSync(ctx context.Context, organization string, req RoleSyncSettings) (out RoleSyncSettings, err error) {
	err = c.do(ctx, "PATCH", "/organizations/"+url.PathEscape(organization)+"/settings/idpsync/roles", nil, req, &out)
	return out, err
}

// OrganizationSync calls GET /settings/idpsync/organization.
func (c *Client) OrganizationSync(ctx context.Context) (out OrganizationSyncSettings, err error) {
	err = c.do(ctx, "GET", "/settings/idpsync/organization", nil, nil, &out)
	return out, err
}

// UpdateOrganizationSync calls PATCH /settings/idpsync/organization.
func (c *Client) UpdateOrganizationSync(ctx context.Context, req OrganizationSyncSettings) (out OrganizationSyncSettings, err error) {
	err = c.do(ctx, "PATCH", "/settings/idpsync/organization", nil, req, &out)
	return out, err
}
