package client

import (
	"context"

	"github.com/seed-2a7f8fe7/coder"
)

// RequestOneTimePasscode calls POST /users/otp/request. It succeeds whether
// somebody has the address or not.
func (c *Client) RequestOneTimePasscode(ctx context.Context, req coder.RequestOneTimePasscodeRequest) error {
	return c.do(ctx, "POST", "/users/otp/request", nil, req, nil)
}

// ChangePasswordWithOneTimePasscode calls POST /users/otp/change-password.
func (c *Client) ChangePasswordWithOneTimePasscode(ctx context.Context, req coder.ChangePasswordWithOneTimePasscodeRequest) error {
	return c.do(ctx, "POST", "/users/otp/change-password", nil, req, nil)
}
