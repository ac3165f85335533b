package client

import (
	"context"
	"net/http"

	"github.com/seed-2a7f8fe7/coder"
)

// AuthenticateInstance sends what a cloud says of this machine, which is one of
// the instance identity tokens, and gives the token of the agent on it. auth is
// the agent's auth, such as aws-instance-identity.
func (c *Client) AuthenticateInstance(ctx context.Context, auth string, token any) (string, error) {
	var out coder.AuthenticateResponse
	err := c.do(ctx, http.MethodPost, "/workspaceagents/"+auth, nil, token, &out)
	return out.SessionToken, err
}
