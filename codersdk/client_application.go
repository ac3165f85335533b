package codersdk

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
)

// AppHost calls GET /applications/host.
func (c *Client) AppHost(ctx context.Context) (out AppHostResponse, err error) {
	err = c.do(ctx, "GET", "/applications/host", nil, nil, &out)
	return out, err
}

// Regions calls GET /regions.
func (c *Client) Regions(ctx context.Context) (out RegionsResponse, err error) {
	err = c.do(ctx, "GET", "/regions", nil, nil, &out)
	return out, err
}

// IssueTerminalToken calls POST /applications/reconnecting-pty-signed-token.
func (c *Client) IssueTerminalToken(ctx context.Context, req IssueReconnectingPTYSignedTokenRequest) (out IssueReconnectingPTYSignedTokenResponse, err error) {
	err = c.do(ctx, "POST", "/applications/reconnecting-pty-signed-token", nil, req, &out)
	return out, err
}

// PortShares calls GET /workspaces/{id}/port-share.
func (c *Client) PortShares(ctx context.Context, workspace uuid.UUID) (out WorkspaceAgentPortShares, err error) {
	err = c.do(ctx, "GET", "/workspaces/"+workspace.String()+"/port-share", nil, nil, &out)
	return out, err
}

// SharePort calls POST /workspaces/{id}/port-share.
func (c *Client) SharePort(ctx context.Context, workspace uuid.UUID, req UpsertWorkspaceAgentPortShareRequest) (out WorkspaceAgentPortShare, err error) {
	err = c.do(ctx, "POST", "/workspaces/"+workspace.String()+"/port-share", nil, req, &out)
	return out, err
}

// UnsharePort calls DELETE /workspaces/{id}/port-share.
func (c *Client) UnsharePort(ctx context.Context, workspace uuid.UUID, req DeleteWorkspaceAgentPortShareRequest) error {
	return c.do(ctx, "DELETE", "/workspaces/"+workspace.String()+"/port-share", nil, req, nil)
}

// PatchAppStatus calls PATCH /workspaceagents/me/app-status with an agent's token.
func (c *Client) PatchAppStatus(ctx context.Context, req PatchAppStatus) error {
	return c.do(ctx, "PATCH", "/workspaceagents/me/app-status", nil, req, nil)
}

// Latency measures the duration of GET /latency-check of the server or workspace
// proxy at u, over a connection that is already open. It sends no token.
func (c *Client) Latency(ctx context.Context, u *url.URL) (took time.Duration, err error) {
	for range 2 { // the first request opens the connection
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("latency-check").String(), nil)
		if err != nil {
			return 0, err
		}
		start := time.Now()
		resp, err := c.http().Do(req)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, 4<<10))
		resp.Body.Close()
		took = time.Since(start)
		switch {
		case err != nil:
			return 0, err
		case resp.StatusCode != http.StatusOK:
			return 0, fmt.Errorf("%s responded %s", req.URL, resp.Status)
		}
	}
	return took, nil
}

// RelayLatency measures the round trip of one WebSocket message to the server, over
// the path that tunnel packets take through the relay.
func (c *Client) RelayLatency(ctx context.Context) (time.Duration, error) {
	conn, err := c.Dial(ctx, "/debug/ws", nil)
	if err != nil {
		return 0, err
	}
	defer conn.CloseNow() //nolint:errcheck // the response has arrived
	const text = "netcheck"
	start := time.Now()
	if err := conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		return 0, err
	}
	_, b, err := conn.Read(ctx)
	switch {
	case err != nil:
		return 0, err
	case string(b) != text:
		return 0, fmt.Errorf("the WebSocket connection changed a message from %q to %q", text, b[:min(len(b), 64)])
	}
	return time.Since(start), nil
}
