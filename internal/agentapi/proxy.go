package agentapi

import (
	"crypto/ed25519"
	"net/http"
	"time"

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
	req, err := decode[coder.TunnelRequest](w, r)
	if err != nil {
		return err
	}
	if len(req.PublicKey) != ed25519.PublicKeySize {
		return coder.Invalid("public_key", "an ed25519 key of %d bytes is wanted", ed25519.PublicKeySize)
	}
	if len(agent.Certificate) == 0 {
		return coder.Errorf(coder.CodeConflict, "The agent %q has not connected yet", agent.Name)
	}
	g := tunnel.Grant{WorkspaceID: agent.WorkspaceID, AgentID: agent.ID, Actions: []string{tunnel.KindTCP, tunnel.KindPTY}}
	certificate, err := a.c.Authority.Issue(req.PublicKey, g, time.Now())
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, coder.TunnelGrant{
		Certificate: certificate, AgentCertificate: agent.Certificate, Actions: g.Actions,
		DisableDirectConnections: a.c.Presence.DisablesDirect(), STUNServers: a.c.Presence.STUN(),
	})
}

// proxyRelay serves the WebSocket on which the packets of a proxy's tunnel travel.
func (a *API) proxyRelay(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.proxyAgent(r)
	if err != nil {
		return err
	}
	if err := a.c.Board.Elsewhere(r.Context(), agent.ID); err != nil {
		return err
	}
	conn, err := tunnel.AcceptRelay(w, r)
	if err != nil {
		return nil //nolint:nilerr // Accept has answered already
	}
	err = a.c.Board.Client(r.Context(), agent.ID, conn)
	a.c.Log.DebugContext(r.Context(), "relay of a workspace proxy ended", "agent_id", agent.ID, "reason", err)
	return nil
}
