package codersdk

import (
	"context"
	"fmt"
	"net/http"

	"github.com/coder/websocket"
	"github.com/google/uuid"
)

// GrantTunnel calls POST /workspaceagents/{id}/tunnel. The server certifies the
// client's key for a tunnel and returns the agent's certificate.
func (c *Client) GrantTunnel(ctx context.Context, agentID uuid.UUID, req TunnelRequest) (out TunnelGrant, err error) {
	err = c.do(ctx, "POST", c.tunnelPath(agentID, "tunnel"), nil, req, &out)
	return out, err
}

// tunnelPath returns the path at which tunnels to an agent are granted or relayed.
func (c *Client) tunnelPath(agentID uuid.UUID, what string) string {
	if c.tunnels != "" {
		return fmt.Sprintf(c.tunnels, agentID)
	}
	return "/workspaceagents/" + agentID.String() + "/" + what
}

// TunnelSettings calls GET /tunnel, which returns whether direct connections are
// allowed, and the STUN servers.
func (c *Client) TunnelSettings(ctx context.Context) (out TunnelSettings, err error) {
	err = c.do(ctx, "GET", "/tunnel", nil, nil, &out)
	return out, err
}

// Renew closes idle connections. After a change of networks they may be dead, which
// the next request would notice only by a timeout.
func (c *Client) Renew() { c.http().CloseIdleConnections() }

// Saying returns a copy of the client that states kind as the purpose of its
// tunnels.
func (c *Client) Saying(kind ConnectionType) *Client {
	said := *c
	said.Header = c.Header.Clone()
	if said.Header == nil {
		said.Header = http.Header{}
	}
	said.Header.Set(ConnectionTypeHeader, string(kind))
	return &said
}

// ClientRelay opens the WebSocket GET /workspaceagents/{id}/relay, on which
// the packets of one tunnel to the agent travel.
func (c *Client) ClientRelay(ctx context.Context, agentID uuid.UUID) (*websocket.Conn, error) {
	return c.Dial(ctx, c.tunnelPath(agentID, "relay"), nil)
}

// AgentRelay opens the WebSocket GET /workspaceagents/me/relay, on which the
// packets of all tunnels to the agent travel. SessionToken is the agent's.
func (c *Client) AgentRelay(ctx context.Context) (*websocket.Conn, error) {
	return c.Dial(ctx, "/workspaceagents/me/relay", nil)
}
