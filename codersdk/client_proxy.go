package codersdk

import (
	"context"
	"net/http"
	"net/url"

	"github.com/coder/websocket"
)

// ProxyTokenHeader carries the token of a workspace proxy.
const ProxyTokenHeader = "Coder-External-Proxy-Token"

// WorkspaceProxies calls GET /workspaceproxies.
func (c *Client) WorkspaceProxies(ctx context.Context) ([]WorkspaceProxy, error) {
	var out WorkspaceProxiesRegions
	err := c.do(ctx, "GET", "/workspaceproxies", nil, nil, &out)
	return out.Regions, err
}

// WorkspaceProxy calls GET /workspaceproxies/{workspaceproxy} with an id or a name.
func (c *Client) WorkspaceProxy(ctx context.Context, ref string) (out WorkspaceProxy, err error) {
	err = c.do(ctx, "GET", "/workspaceproxies/"+url.PathEscape(ref), nil, nil, &out)
	return out, err
}

// CreateWorkspaceProxy calls POST /workspaceproxies.
func (c *Client) CreateWorkspaceProxy(ctx context.Context, req CreateWorkspaceProxyRequest) (out WorkspaceProxyToken, err error) {
	err = c.do(ctx, "POST", "/workspaceproxies", nil, req, &out)
	return out, err
}

// UpdateWorkspaceProxy calls PATCH /workspaceproxies/{workspaceproxy}.
func (c *Client) UpdateWorkspaceProxy(ctx context.Context, req PatchWorkspaceProxy) (out WorkspaceProxyToken, err error) {
	err = c.do(ctx, "PATCH", "/workspaceproxies/"+req.ID.String(), nil, req, &out)
	return out, err
}

// DeleteWorkspaceProxy calls DELETE /workspaceproxies/{workspaceproxy}.
func (c *Client) DeleteWorkspaceProxy(ctx context.Context, ref string) error {
	return c.do(ctx, "DELETE", "/workspaceproxies/"+url.PathEscape(ref), nil, nil, nil)
}

// NewProxy returns the client of a workspace proxy, with the proxy's token. It
// requests and relays tunnels through the endpoints for proxies.
func NewProxy(server *url.URL, token string) *Client {
	return &Client{URL: server, Header: http.Header{ProxyTokenHeader: {token}}, tunnels: "/workspaceproxies/me/coordinate/%s"}
}

// RegisterProxy calls POST /workspaceproxies/me/register.
func (c *Client) RegisterProxy(ctx context.Context, req RegisterWorkspaceProxyRequest) (out RegisterWorkspaceProxyResponse, err error) {
	err = c.do(ctx, "POST", "/workspaceproxies/me/register", nil, req, &out)
	return out, err
}

// DeregisterProxy calls POST /workspaceproxies/me/deregister.
func (c *Client) DeregisterProxy(ctx context.Context, req DeregisterWorkspaceProxyRequest) error {
	return c.do(ctx, "POST", "/workspaceproxies/me/deregister", nil, req, nil)
}

// IssueAppToken calls POST /workspaceproxies/me/issue-signed-app-token.
func (c *Client) IssueAppToken(ctx context.Context, req IssueAppTokenRequest) (out IssueSignedAppTokenResponse, err error) {
	err = c.do(ctx, "POST", "/workspaceproxies/me/issue-signed-app-token", nil, req, &out)
	return out, err
}

// ProxyApp calls POST /workspaceproxies/me/app for the target of an app's address.
func (c *Client) ProxyApp(ctx context.Context, req AppRequest) (out AppTarget, err error) {
	err = c.do(ctx, "POST", "/workspaceproxies/me/app", nil, req, &out)
	return out, err
}

// ProxySession calls POST /workspaceproxies/me/session.
func (c *Client) ProxySession(ctx context.Context, req ProxySessionRequest) (out ProxySession, err error) {
	err = c.do(ctx, "POST", "/workspaceproxies/me/session", nil, req, &out)
	return out, err
}

// ProxyHold opens the WebSocket GET /workspaceproxies/me/hold. The server closes it
// with the status "policy violation" when an app request must end.
func (c *Client) ProxyHold(ctx context.Context, q url.Values) (*websocket.Conn, error) {
	return c.Dial(ctx, "/workspaceproxies/me/hold", q)
}

// ProxyKeys calls GET /workspaceproxies/me/crypto-keys for the keys of app tokens.
func (c *Client) ProxyKeys(ctx context.Context) ([]CryptoKey, error) {
	var out CryptoKeysResponse
	err := c.do(ctx, "GET", "/workspaceproxies/me/crypto-keys", url.Values{"feature": {"workspace_apps_token"}}, nil, &out)
	return out.CryptoKeys, err
}

// ReportAppStats calls POST /workspaceproxies/me/app-stats.
func (c *Client) ReportAppStats(ctx context.Context, stats []AppStatsReport) error {
	return c.do(ctx, "POST", "/workspaceproxies/me/app-stats", nil, ReportAppStatsRequest{Stats: stats}, nil)
}
