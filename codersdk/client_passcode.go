package codersdk

import (
	"context"
)

// RequestOneTimePasscode calls POST /users/otp/request. It succeeds whether or not
// an account has the address.
func (c *Client) RequestOneTimePasscode(ctx context.Context, req RequestOneTimePasscodeRequest) error {
	return c.do(ctx, "POST", "/users/otp/request", nil, req, nil)
}

// ChangePasswordWithOneTimePasscode calls POST /users/otp/change-password.
func (c *Client) ChangePasswordWithOneTimePasscode(ctx context.Context, req ChangePasswordWithOneTimePasscodeRequest) error {
	return c.do(ctx, "POST", "/users/otp/change-password", nil, req, nil)
}
