package agentapi

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// agentTimeout bounds one request to an agent.
const agentTimeout = 15 * time.Second

// AgentPTY opens a terminal of an agent. arg is the argument of a pty stream.
func (a *API) AgentPTY(ctx context.Context, agent presence.Agent, arg string) (net.Conn, error) {
	return a.dial(ctx, agent, tunnel.KindPTY, arg)
}

// dial opens a stream to an agent in the server's own tunnel.
func (a *API) dial(ctx context.Context, agent presence.Agent, kind, arg string) (net.Conn, error) {
	if len(agent.Certificate) == 0 {
		return nil, codersdk.Errorf(codersdk.CodeUnavailable, "Agent %q has not connected yet; wait until its workspace has started", agent.Name)
	}
	return a.c.Board.Open(ctx, tunnel.Target{
		AgentID: agent.ID, WorkspaceID: agent.WorkspaceID, Certificate: agent.Certificate,
	}, kind, arg)
}

// AgentHTTP returns a client for an agent's HTTP API. The host of its requests
// is ignored.
func (a *API) AgentHTTP(agent presence.Agent) *http.Client {
	return &http.Client{Timeout: agentTimeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return a.dial(ctx, agent, tunnel.KindAgentAPI, "")
		},
	}}
}
