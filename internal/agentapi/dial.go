package agentapi

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// agentTimeout bounds one request to an agent.
const agentTimeout = 15 * time.Second

// AgentPTY opens a terminal of an agent through a tunnel of its own; arg is the
// argument of a stream of kind pty.
func (a *API) AgentPTY(ctx context.Context, agent presence.Agent, arg string) (net.Conn, error) {
	return a.dial(ctx, agent, tunnel.KindPTY, arg)
}

// dial opens a stream to an agent in a tunnel of its own.
func (a *API) dial(ctx context.Context, agent presence.Agent, kind, arg string) (net.Conn, error) {
	t, err := a.c.Board.DialAgent(ctx, tunnel.Grant{
		UserID: agent.OwnerID, WorkspaceID: agent.WorkspaceID, AgentID: agent.ID, Actions: []string{kind},
	}, agent.Certificate)
	if err != nil {
		return nil, err
	}
	s, err := t.Open(ctx, kind, arg)
	if err != nil {
		t.Close()
		return nil, err
	}
	return &ownTunnel{Stream: s, tunnel: t}, nil
}

// AgentHTTP gives a client of an agent's own HTTP API. Each request travels
// through a tunnel of its own, whatever host it names.
func (a *API) AgentHTTP(agent presence.Agent) *http.Client {
	return &http.Client{Timeout: agentTimeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return a.dial(ctx, agent, tunnel.KindAgentAPI, "")
		},
	}}
}

// ownTunnel is a stream that ends its tunnel with itself.
type ownTunnel struct {
	*tunnel.Stream
	tunnel *tunnel.Conn
}

// Close ends both.
func (o *ownTunnel) Close() error {
	_ = o.Stream.Close() // goes with the tunnel
	return o.tunnel.Close()
}
