package codersdk

import (
	"context"
	"net/url"
)

// CreateFirstUser calls POST /users/first.
func (c *Client) CreateFirstUser(ctx context.Context, req CreateFirstUserRequest) (out CreateFirstUserResponse, err error) {
	err = c.do(ctx, "POST", "/users/first", nil, req, &out)
	return out, err
}

// LoginWithPassword calls POST /users/login.
func (c *Client) LoginWithPassword(ctx context.Context, req LoginWithPasswordRequest) (out LoginWithPasswordResponse, err error) {
	err = c.do(ctx, "POST", "/users/login", nil, req, &out)
	return out, err
}

// Logout calls POST /users/logout.
func (c *Client) Logout(ctx context.Context) error {
	return c.do(ctx, "POST", "/users/logout", nil, nil, nil)
}

// AuthMethods calls GET /users/authmethods.
func (c *Client) AuthMethods(ctx context.Context) (out AuthMethods, err error) {
	err = c.do(ctx, "GET", "/users/authmethods", nil, nil, &out)
	return out, err
}

// Users calls GET /users.
func (c *Client) Users(ctx context.Context, q url.Values) (out GetUsersResponse, err error) {
	err = c.do(ctx, "GET", "/users", q, nil, &out)
	return out, err
}

// CreateUser calls POST /users.
func (c *Client) CreateUser(ctx context.Context, req CreateUserRequestWithOrgs) (out User, err error) {
	err = c.do(ctx, "POST", "/users", nil, req, &out)
	return out, err
}

// User calls GET /users/{user}.
func (c *Client) User(ctx context.Context, user string) (out User, err error) {
	err = c.do(ctx, "GET", "/users/"+url.PathEscape(user), nil, nil, &out)
	return out, err
}

// DeleteUser calls DELETE /users/{user}.
func (c *Client) DeleteUser(ctx context.Context, user string) error {
	return c.do(ctx, "DELETE", "/users/"+url.PathEscape(user), nil, nil, nil)
}

// UpdateUserProfile calls PUT /users/{user}/profile.
func (c *Client) UpdateUserProfile(ctx context.Context, user string, req UpdateUserProfileRequest) (out User, err error) {
	err = c.do(ctx, "PUT", "/users/"+url.PathEscape(user)+"/profile", nil, req, &out)
	return out, err
}

// UpdateUserPassword calls PUT /users/{user}/password.
func (c *Client) UpdateUserPassword(ctx context.Context, user string, req UpdateUserPasswordRequest) error {
	return c.do(ctx, "PUT", "/users/"+url.PathEscape(user)+"/password", nil, req, nil)
}

// UpdateUserRoles calls PUT /users/{user}/roles.
func (c *Client) UpdateUserRoles(ctx context.Context, user string, req UpdateRoles) (out User, err error) {
	err = c.do(ctx, "PUT", "/users/"+url.PathEscape(user)+"/roles", nil, req, &out)
	return out, err
}

// ActivateUser calls PUT /users/{user}/status/activate.
func (c *Client) ActivateUser(ctx context.Context, user string) (out User, err error) {
	err = c.do(ctx, "PUT", "/users/"+url.PathEscape(user)+"/status/activate", nil, nil, &out)
	return out, err
}

// SuspendUser calls PUT /users/{user}/status/suspend.
func (c *Client) SuspendUser(ctx context.Context, user string) (out User, err error) {
	err = c.do(ctx, "PUT", "/users/"+url.PathEscape(user)+"/status/suspend", nil, nil, &out)
	return out, err
}

// GitSSHKey calls GET /users/{user}/gitsshkey.
func (c *Client) GitSSHKey(ctx context.Context, user string) (out GitSSHKey, err error) {
	err = c.do(ctx, "GET", "/users/"+url.PathEscape(user)+"/gitsshkey", nil, nil, &out)
	return out, err
}

// RegenerateGitSSHKey calls PUT /users/{user}/gitsshkey.
func (c *Client) RegenerateGitSSHKey(ctx context.Context, user string) (out GitSSHKey, err error) {
	err = c.do(ctx, "PUT", "/users/"+url.PathEscape(user)+"/gitsshkey", nil, nil, &out)
	return out, err
}

// UserOrganizations calls GET /users/{user}/organizations.
func (c *Client) UserOrganizations(ctx context.Context, user string) (out []Organization, err error) {
	err = c.do(ctx, "GET", "/users/"+url.PathEscape(user)+"/organizations", nil, nil, &out)
	return out, err
}

// SiteRoles calls GET /users/roles.
func (c *Client) SiteRoles(ctx context.Context) (out []AssignableRoles, err error) {
	err = c.do(ctx, "GET", "/users/roles", nil, nil, &out)
	return out, err
}
