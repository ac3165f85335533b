package codersdk

import (
	"context"
	"net/http"
)

// AuthenticateInstance sends the instance identity token of this machine and
// returns the token of the agent on it. auth is the agent's auth value, such as
// aws-instance-identity.
func (c *Client) AuthenticateInstance(ctx context.Context, auth string, token any) (string, error) {
	var out AuthenticateResponse
	err := c.do(ctx, http.MethodPost, "/workspaceagents/"+auth, nil, token, &out)
	return out.SessionToken, err
}
