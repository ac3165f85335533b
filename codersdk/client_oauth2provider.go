package codersdk

import (
	"context"
	"net/http"
	"net/url"

	"github.com/google/uuid"
)

// OAuth2ProviderApps calls GET /oauth2-provider/apps. A user other than "" selects the applications that
// act for that user.
func (c *Client) OAuth2ProviderApps(ctx context.Context, user string) (out []OAuth2ProviderApp, err error) {
	q := url.Values{}
	if user != "" {
		q.Set("user_id", user)
	}
	return out, c.do(ctx, http.MethodGet, "/oauth2-provider/apps", q, nil, &out)
}

// OAuth2ProviderApp calls GET /oauth2-provider/apps/{app}.
func (c *Client) OAuth2ProviderApp(ctx context.Context, id uuid.UUID) (out OAuth2ProviderApp, err error) {
	return out, c.do(ctx, http.MethodGet, "/oauth2-provider/apps/"+id.String(), nil, nil, &out)
}

// PostOAuth2ProviderApp calls POST /oauth2-provider/apps.
func (c *Client) PostOAuth2ProviderApp(ctx context.Context, req PostOAuth2ProviderAppRequest) (out OAuth2ProviderApp, err error) {
	return out, c.do(ctx, http.MethodPost, "/oauth2-provider/apps", nil, req, &out)
}

// PutOAuth2ProviderApp calls PUT /oauth2-provider/apps/{app}.
func (c *Client) PutOAuth2ProviderApp(ctx context.Context, id uuid.UUID, req PutOAuth2ProviderAppRequest) (out OAuth2ProviderApp, err error) {
	return out, c.do(ctx, http.MethodPut, "/oauth2-provider/apps/"+id.String(), nil, req, &out)
}

// DeleteOAuth2ProviderApp calls DELETE /oauth2-provider/apps/{app}.
func (c *Client) DeleteOAuth2ProviderApp(ctx context.Context, id uuid.UUID) error {
	return c.do(ctx, http.MethodDelete, "/oauth2-provider/apps/"+id.String(), nil, nil, nil)
}

// OAuth2ProviderAppSecrets calls GET /oauth2-provider/apps/{app}/secrets.
func (c *Client) OAuth2ProviderAppSecrets(ctx context.Context, app uuid.UUID) (out []OAuth2ProviderAppSecret, err error) {
	return out, c.do(ctx, http.MethodGet, "/oauth2-provider/apps/"+app.String()+"/secrets", nil, nil, &out)
}

// PostOAuth2ProviderAppSecret calls POST /oauth2-provider/apps/{app}/secrets.
func (c *Client) PostOAuth2ProviderAppSecret(ctx context.Context, app uuid.UUID) (out OAuth2ProviderAppSecretFull, err error) {
	return out, c.do(ctx, http.MethodPost, "/oauth2-provider/apps/"+app.String()+"/secrets", nil, nil, &out)
}

// DeleteOAuth2ProviderAppSecret calls DELETE /oauth2-provider/apps/{app}/secrets/{secretID}.
func (c *Client) DeleteOAuth2ProviderAppSecret(ctx context.Context, app, secret uuid.UUID) error {
	return c.do(ctx, http.MethodDelete, "/oauth2-provider/apps/"+app.String()+"/secrets/"+secret.String(), nil, nil, nil)
}

// OAuth2ProviderGrants calls GET /oauth2-provider/grants.
func (c *Client) OAuth2ProviderGrants(ctx context.Context) (out []OAuth2ProviderGrant, err error) {
	return out, c.do(ctx, http.MethodGet, "/oauth2-provider/grants", nil, nil, &out)
}

// OAuth2ProviderSettings calls GET /oauth2-provider/settings.
func (c *Client) OAuth2ProviderSettings(ctx context.Context) (out OAuth2ProviderSettings, err error) {
	return out, c.do(ctx, http.MethodGet, "/oauth2-provider/settings", nil, nil, &out)
}

// PutOAuth2ProviderSettings calls PUT /oauth2-provider/settings.
func (c *Client) PutOAuth2ProviderSettings(ctx context.Context, req OAuth2ProviderSettings) (out OAuth2ProviderSettings, err error) {
	return out, c.do(ctx, http.MethodPut, "/oauth2-provider/settings", nil, req, &out)
}

// RevokeOAuth2ProviderApp calls DELETE /oauth2/tokens, which ends all access of an application to the account of
// the user. The endpoint is not below /api/v2.
func (c *Client) RevokeOAuth2ProviderApp(ctx context.Context, app uuid.UUID) error {
	u := c.URL.JoinPath("/oauth2/tokens")
	u.RawQuery = url.Values{"client_id": {app.String()}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, u.String(), nil)
	if err != nil {
		return err
	}
	c.authorize(req.Header)
	resp, err := c.http().Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return ReadError(resp)
	}
	return nil
}
