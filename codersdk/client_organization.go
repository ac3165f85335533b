package codersdk

import (
	"context"
	"net/url"
)

// Organizations calls GET /organizations.
func (c *Client) Organizations(ctx context.Context) ([]Organization, error) {
	return all[Organization](ctx, c, "/organizations", nil)
}

// CreateOrganization calls POST /organizations.
func (c *Client) CreateOrganization(ctx context.Context, req CreateOrganizationRequest) (out Organization, err error) {
	err = c.do(ctx, "POST", "/organizations", nil, req, &out)
	return out, err
}

// Organization calls GET /organizations/{organization}.
func (c *Client) Organization(ctx context.Context, organization string) (out Organization, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization), nil, nil, &out)
	return out, err
}

// UpdateOrganization calls PATCH /organizations/{organization}.
func (c *Client) UpdateOrganization(ctx context.Context, organization string, req UpdateOrganizationRequest) (out Organization, err error) {
	err = c.do(ctx, "PATCH", "/organizations/"+url.PathEscape(organization), nil, req, &out)
	return out, err
}

// DeleteOrganization calls DELETE /organizations/{organization}.
func (c *Client) DeleteOrganization(ctx context.Context, organization string) error {
	return c.do(ctx, "DELETE", "/organizations/"+url.PathEscape(organization), nil, nil, nil)
}

// OrganizationMembers calls GET /organizations/{organization}/members.
func (c *Client) OrganizationMembers(ctx context.Context, organization string) (out []OrganizationMemberWithUserData, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/members", nil, nil, &out)
	return out, err
}

// OrganizationMember calls GET /organizations/{organization}/members/{user}.
func (c *Client) OrganizationMember(ctx context.Context, organization string, user string) (out OrganizationMemberWithUserData, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/members/"+url.PathEscape(user), nil, nil, &out)
	return out, err
}

// OrganizationMembersPage calls GET /organizations/{organization}/paginated-members.
func (c *Client) OrganizationMembersPage(ctx context.Context, organization string, q url.Values) (out PaginatedMembersResponse, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/paginated-members", q, nil, &out)
	return out, err
}

// AddOrganizationMember calls POST /organizations/{organization}/members/{user}.
func (c *Client) AddOrganizationMember(ctx context.Context, organization string, user string) (out OrganizationMember, err error) {
	err = c.do(ctx, "POST", "/organizations/"+url.PathEscape(organization)+"/members/"+url.PathEscape(user), nil, nil, &out)
	return out, err
}

// RemoveOrganizationMember calls DELETE /organizations/{organization}/members/{user}.
func (c *Client) RemoveOrganizationMember(ctx context.Context, organization string, user string) error {
	return c.do(ctx, "DELETE", "/organizations/"+url.PathEscape(organization)+"/members/"+url.PathEscape(user), nil, nil, nil)
}

// UpdateOrganizationMemberRoles calls PUT /organizations/{organization}/members/{user}/roles.
func (c *Client) UpdateOrganizationMemberRoles(ctx context.Context, organization string, user string, req UpdateRoles) (out OrganizationMember, err error) {
	err = c.do(ctx, "PUT", "/organizations/"+url.PathEscape(organization)+"/members/"+url.PathEscape(user)+"/roles", nil, req, &out)
	return out, err
}

// OrganizationRoles calls GET /organizations/{organization}/members/roles.
func (c *Client) OrganizationRoles(ctx context.Context, organization string) (out []AssignableRoles, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/members/roles", nil, nil, &out)
	return out, err
}
