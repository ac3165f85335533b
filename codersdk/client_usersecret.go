package codersdk

import (
	"context"
	"net/http"
	"net/url"
)

// secretsPath returns the path of a user's secrets, or of one with a name.
func secretsPath(user string, name ...string) string {
	p := "/users/" + url.PathEscape(user) + "/secrets"
	for _, n := range name {
		p += "/" + url.PathEscape(n)
	}
	return p
}

// UserSecrets calls GET /users/{user}/secrets.
func (c *Client) UserSecrets(ctx context.Context, user string) (out []UserSecret, err error) {
	return out, c.do(ctx, http.MethodGet, secretsPath(user), nil, nil, &out)
}

// UserSecret calls GET /users/{user}/secrets/{name}.
func (c *Client) UserSecret(ctx context.Context, user, name string) (out UserSecret, err error) {
	return out, c.do(ctx, http.MethodGet, secretsPath(user, name), nil, nil, &out)
}

// CreateUserSecret calls POST /users/{user}/secrets.
func (c *Client) CreateUserSecret(ctx context.Context, user string, req CreateUserSecretRequest) (out UserSecret, err error) {
	return out, c.do(ctx, http.MethodPost, secretsPath(user), nil, req, &out)
}

// CreateUserSecrets calls POST /users/{user}/secrets/batch.
func (c *Client) CreateUserSecrets(ctx context.Context, user string, req CreateUserSecretsRequest) (out []UserSecret, err error) {
	return out, c.do(ctx, http.MethodPost, secretsPath(user, "batch"), nil, req, &out)
}

// UpdateUserSecret calls PATCH /users/{user}/secrets/{name}.
func (c *Client) UpdateUserSecret(ctx context.Context, user, name string, req UpdateUserSecretRequest) (out UserSecret, err error) {
	return out, c.do(ctx, http.MethodPatch, secretsPath(user, name), nil, req, &out)
}

// DeleteUserSecret calls DELETE /users/{user}/secrets/{name}.
func (c *Client) DeleteUserSecret(ctx context.Context, user, name string) error {
	return c.do(ctx, http.MethodDelete, secretsPath(user, name), nil, nil, nil)
}
