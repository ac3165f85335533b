package agentapi

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// agentTimeout bounds one request to an agent.
const agentTimeout = 15 * time.Second

// AgentPTY opens a terminal of an agent; arg is the argument of a stream of
// kind pty.
func (a *API) AgentPTY(ctx context.Context, agent presence.Agent, arg string) (net.Conn, error) {
	return a.dial(ctx, agent, tunnel.KindPTY, arg)
}

// dial opens a stream in the server's own tunnel to an agent.
func (a *API) dial(ctx context.Context, agent presence.Agent, kind, arg string) (net.Conn, error) {
	if len(agent.Certificate) == 0 {
		return nil, coder.Errorf(coder.CodeUnavailable, "The agent %q has not connected yet", agent.Name)
	}
	return a.c.Board.Open(ctx, tunnel.Target{
		AgentID: agent.ID, WorkspaceID: agent.WorkspaceID, Certificate: agent.Certificate,
	}, kind, arg)
}

// AgentHTTP gives a client of an agent's own HTTP API, whatever host its
// requests name.
func (a *API) AgentHTTP(agent presence.Agent) *http.Client {
	return &http.Client{Timeout: agentTimeout, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return a.dial(ctx, agent, tunnel.KindAgentAPI, "")
		},
	}}
}
