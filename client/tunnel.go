package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// GrantTunnel calls POST /workspaceagents/{id}/tunnel: the server certifies a
// key for a tunnel to the agent and says how to recognize the agent.
func (c *Client) GrantTunnel(ctx context.Context, agentID uuid.UUID, req coder.TunnelRequest) (out coder.TunnelGrant, err error) {
	err = c.do(ctx, "POST", c.tunnelPath(agentID, "tunnel"), nil, req, &out)
	return out, err
}

// tunnelPath is where tunnels to an agent are granted and relayed.
func (c *Client) tunnelPath(agentID uuid.UUID, what string) string {
	if c.tunnels != "" {
		return fmt.Sprintf(c.tunnels, agentID)
	}
	return "/workspaceagents/" + agentID.String() + "/" + what
}

// TunnelSettings calls GET /tunnel: whether the server allows direct connections,
// and who tells their ends their public addresses.
func (c *Client) TunnelSettings(ctx context.Context) (out coder.TunnelSettings, err error) {
	err = c.do(ctx, "GET", "/tunnel", nil, nil, &out)
	return out, err
}

// Renew lets go of connections that wait for another request: the network that
// they were made in may be gone, which the next request would learn only by
// hearing nothing.
func (c *Client) Renew() { c.http().CloseIdleConnections() }

// Saying gives a client like this one that tells the server what its tunnels
// are for.
func (c *Client) Saying(kind coder.ConnectionType) *Client {
	said := *c
	said.Header = c.Header.Clone()
	if said.Header == nil {
		said.Header = http.Header{}
	}
	said.Header.Set(coder.ConnectionTypeHeader, string(kind))
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
