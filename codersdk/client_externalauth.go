package codersdk

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// ExternalAuths calls GET /external-auth.
func (c *Client) ExternalAuths(ctx context.Context) (out ListUserExternalAuthResponse, err error) {
	return out, c.do(ctx, http.MethodGet, "/external-auth", nil, nil, &out)
}

// ExternalAuth calls GET /external-auth/{id}.
func (c *Client) ExternalAuth(ctx context.Context, id string) (out ExternalAuth, err error) {
	return out, c.do(ctx, http.MethodGet, "/external-auth/"+url.PathEscape(id), nil, nil, &out)
}

// DeleteExternalAuth calls DELETE /external-auth/{id}.
func (c *Client) DeleteExternalAuth(ctx context.Context, id string) (out DeleteExternalAuthByIDResponse, err error) {
	return out, c.do(ctx, http.MethodDelete, "/external-auth/"+url.PathEscape(id), nil, nil, &out)
}

// ExternalAuthDevice calls GET /external-auth/{id}/device.
func (c *Client) ExternalAuthDevice(ctx context.Context, id string) (out ExternalAuthDevice, err error) {
	return out, c.do(ctx, http.MethodGet, "/external-auth/"+url.PathEscape(id)+"/device", nil, nil, &out)
}

// ExchangeExternalAuthDevice calls POST /external-auth/{id}/device.
func (c *Client) ExchangeExternalAuthDevice(ctx context.Context, id, code string) error {
	return c.do(ctx, http.MethodPost, "/external-auth/"+url.PathEscape(id)+"/device", nil, ExternalAuthDeviceExchange{DeviceCode: code}, nil)
}

// AgentExternalAuthRequest selects a provider by its ID, or by a git remote that it matches.
type AgentExternalAuthRequest struct {
	ID, Match string
	Listen    bool // wait until the owner has linked the provider
}

// AgentExternalAuth calls GET /workspaceagents/me/external-auth with the token of an agent.
func (c *Client) AgentExternalAuth(ctx context.Context, r AgentExternalAuthRequest) (out ExternalAuthResponse, err error) {
	q := url.Values{}
	if r.ID != "" {
		q.Set("id", r.ID)
	}
	if r.Match != "" {
		q.Set("match", r.Match)
	}
	if r.Listen {
		q.Set("listen", strconv.FormatBool(r.Listen))
	}
	return out, c.do(ctx, http.MethodGet, "/workspaceagents/me/external-auth", q, nil, &out)
}
