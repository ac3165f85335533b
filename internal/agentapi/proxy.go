package agentapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/proxy"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// proxy authenticates a workspace proxy.
func (a *API) proxy(r *http.Request) (proxy.Proxy, error) {
	if a.c.Proxies == nil {
		return proxy.Proxy{}, codersdk.NotFound()
	}
	return a.c.Proxies.Authenticate(r.Context(), r.Header.Get(codersdk.ProxyTokenHeader))
}

// proxyRelayKey replies with the key with which a workspace proxy verifies the tokens of
// its relay.
func (a *API) proxyRelayKey(w http.ResponseWriter, r *http.Request) error {
	p, err := a.proxy(r)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, a.c.Authority.RelayKey(p.ID()))
}

// relayProxies returns the workspace proxies at which a client can meet an agent, with
// tokens for both. Without them the server relays, so a failure is only logged.
func (a *API) relayProxies(ctx context.Context, agentID uuid.UUID) []codersdk.TunnelProxy {
	if a.c.Proxies == nil {
		return nil
	}
	all, err := a.c.Proxies.Relays(ctx)
	if err != nil {
		a.c.Log.WarnContext(ctx, "cannot list the workspace proxies that relay tunnels; the server relays", "error", err)
		return nil
	}
	now := a.c.Now()
	for i := range all {
		claim := tunnel.RelayClaim{ProxyID: all[i].ID, AgentID: agentID, End: tunnel.RelayClient}
		all[i].ClientToken = a.c.Authority.IssueRelay(claim, now)
		claim.End = tunnel.RelayAgent
		all[i].AgentToken = a.c.Authority.IssueRelay(claim, now)
	}
	return all
}

// proxyAgent authenticates a workspace proxy and returns the agent that it asks
// for. A proxy may reach every agent, because it serves many users.
func (a *API) proxyAgent(r *http.Request) (presence.Agent, error) {
	if _, err := a.proxy(r); err != nil {
		return presence.Agent{}, err
	}
	id, err := uuid.Parse(r.PathValue("workspaceagent"))
	if err != nil {
		return presence.Agent{}, codersdk.Invalid("workspaceagent", "%q is not a UUID", r.PathValue("workspaceagent"))
	}
	return a.c.Presence.AgentForUser(r.Context(), access.System(), id, codersdk.RBACActionApplicationConnect)
}

// grantProxy certifies a workspace proxy for a tunnel to apps and terminals.
func (a *API) grantProxy(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.proxyAgent(r)
	if err != nil {
		return err
	}
	req, err := tunnelRequest(w, r)
	if err != nil {
		return err
	}
	out, err := a.certify(req, agent, tunnel.Grant{Actions: []string{tunnel.KindTCP, tunnel.KindPTY}})
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

// proxyRelay serves the WebSocket that carries the packets of a proxy's tunnel.
func (a *API) proxyRelay(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.proxyAgent(r)
	if err != nil {
		return err
	}
	conn, err := a.acceptClient(w, r, agent)
	if conn == nil {
		return err
	}
	err = a.c.Board.Client(r.Context(), agent.ID, conn, nil)
	a.c.Log.DebugContext(r.Context(), "relay of a workspace proxy ended", "agent_id", agent.ID, "reason", err)
	return nil
}
