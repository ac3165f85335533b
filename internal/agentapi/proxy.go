package agentapi

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// proxyAgent gives the agent that a workspace proxy asks for, by its token: it
// may reach all, for those whom it serves come and go.
func (a *API) proxyAgent(r *http.Request) (presence.Agent, error) {
	if a.c.Proxies == nil {
		return presence.Agent{}, coder.NotFound()
	}
	if _, err := a.c.Proxies.Authenticate(r.Context(), r.Header.Get(client.ProxyTokenHeader)); err != nil {
		return presence.Agent{}, err
	}
	id, err := uuid.Parse(r.PathValue("workspaceagent"))
	if err != nil {
		return presence.Agent{}, coder.Invalid("workspaceagent", "%q is not a UUID", r.PathValue("workspaceagent"))
	}
	return a.c.Presence.AgentForUser(r.Context(), access.System(), id, coder.RBACActionApplicationConnect)
}

// grantProxy certifies a workspace proxy for a tunnel, for apps and terminals.
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

// proxyRelay serves the WebSocket on which the packets of a proxy's tunnel travel.
func (a *API) proxyRelay(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.proxyAgent(r)
	if err != nil {
		return err
	}
	conn, err := a.acceptClient(w, r, agent)
	if conn == nil {
		return err
	}
	err = a.c.Board.Client(r.Context(), agent.ID, conn)
	a.c.Log.DebugContext(r.Context(), "relay of a workspace proxy ended", "agent_id", agent.ID, "reason", err)
	return nil
}
