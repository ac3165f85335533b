package codersdk

import (
	"context"
	"net/url"
)

// CreateToken calls POST /users/{user}/keys/tokens.
func (c *Client) CreateToken(ctx context.Context, user string, req CreateTokenRequest) (out GenerateAPIKeyResponse, err error) {
	err = c.do(ctx, "POST", "/users/"+url.PathEscape(user)+"/keys/tokens", nil, req, &out)
	return out, err
}

// CreateSessionKey calls POST /users/{user}/keys.
func (c *Client) CreateSessionKey(ctx context.Context, user string) (out GenerateAPIKeyResponse, err error) {
	err = c.do(ctx, "POST", "/users/"+url.PathEscape(user)+"/keys", nil, nil, &out)
	return out, err
}

// Tokens calls GET /users/{user}/keys/tokens.
func (c *Client) Tokens(ctx context.Context, user string, q url.Values) (out []APIKeyWithOwner, err error) {
	err = c.do(ctx, "GET", "/users/"+url.PathEscape(user)+"/keys/tokens", q, nil, &out)
	return out, err
}

// Token calls GET /users/{user}/keys/tokens/{name}.
func (c *Client) Token(ctx context.Context, user string, name string) (out APIKey, err error) {
	err = c.do(ctx, "GET", "/users/"+url.PathEscape(user)+"/keys/tokens/"+url.PathEscape(name), nil, nil, &out)
	return out, err
}

// APIKey calls GET /users/{user}/keys/{id}.
func (c *Client) APIKey(ctx context.Context, user string, id string) (out APIKey, err error) {
	err = c.do(ctx, "GET", "/users/"+url.PathEscape(user)+"/keys/"+url.PathEscape(id), nil, nil, &out)
	return out, err
}

// DeleteAPIKey calls DELETE /users/{user}/keys/{id}.
func (c *Client) DeleteAPIKey(ctx context.Context, user string, id string) error {
	return c.do(ctx, "DELETE", "/users/"+url.PathEscape(user)+"/keys/"+url.PathEscape(id), nil, nil, nil)
}

// ExpireAPIKey calls PUT /users/{user}/keys/{id}/expire.
func (c *Client) ExpireAPIKey(ctx context.Context, user string, id string) error {
	return c.do(ctx, "PUT", "/users/"+url.PathEscape(user)+"/keys/"+url.PathEscape(id)+"/expire", nil, nil, nil)
}

// TokenConfig calls GET /users/{user}/keys/tokens/tokenconfig.
func (c *Client) TokenConfig(ctx context.Context, user string) (out TokenConfig, err error) {
	err = c.do(ctx, "GET", "/users/"+url.PathEscape(user)+"/keys/tokens/tokenconfig", nil, nil, &out)
	return out, err
}

// AuthCheck calls POST /authcheck.
func (c *Client) AuthCheck(ctx context.Context, req AuthorizationRequest) (out AuthorizationResponse, err error) {
	err = c.do(ctx, "POST", "/authcheck", nil, req, &out)
	return out, err
}
