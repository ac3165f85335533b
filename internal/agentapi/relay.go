package agentapi

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/switchboard"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// The paths of users that are served here, for the mux around this one. Their
// callers are programs: a token counts in a header only, never in a cookie.
const (
	ClientRelayPath = "/api/v2/workspaceagents/{workspaceagent}/relay"
	TunnelGrantPath = "/api/v2/workspaceagents/{workspaceagent}/tunnel"
	// TunnelSettingsPath is for whoever checks a network before there is an agent.
	TunnelSettingsPath = "/api/v2/tunnel"
	// CoordinatePath is where workspace proxies ask for their own tunnels.
	CoordinatePath = "/api/v2/workspaceproxies/me/coordinate/{workspaceagent}"
)

// relayRoutes registers the relay and the grants of tunnels.
func (a *API) relayRoutes() {
	a.handle("GET /api/v2/workspaceagents/me/relay", a.agentRelay)
	a.handle("GET "+ClientRelayPath, a.clientRelay)
	a.handle("POST "+TunnelGrantPath, a.grantTunnel)
	a.handle("GET "+TunnelSettingsPath, a.tunnelSettings)
	a.handle("POST "+CoordinatePath, a.grantProxy)
	a.handle("GET "+CoordinatePath, a.proxyRelay)
	a.handle("GET "+switchboard.HopPath+"{workspaceagent}", a.replicaRelay)
}

// replicaRelay serves the WebSocket of another replica, on which the packets of
// one of its clients travel to an agent that is here.
func (a *API) replicaRelay(w http.ResponseWriter, r *http.Request) error {
	id, err := uuid.Parse(r.PathValue("workspaceagent"))
	if err != nil {
		return coder.Invalid("workspaceagent", "%q is not a UUID", r.PathValue("workspaceagent"))
	}
	if err := a.c.Board.AdmitHop(r.Header.Get(switchboard.HopHeader), id); err != nil {
		return err
	}
	conn, err := tunnel.AcceptRelay(w, r)
	if err != nil {
		return nil //nolint:nilerr // Accept has answered already
	}
	err = a.c.Board.Hop(r.Context(), id, conn)
	a.c.Log.DebugContext(r.Context(), "relay of another replica ended", "agent_id", id, "reason", err)
	return nil
}

// agentRelay serves the WebSocket on which the packets of all tunnels to an
// agent travel.
func (a *API) agentRelay(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.agent(r)
	if err != nil {
		return err
	}
	conn, err := tunnel.AcceptRelay(w, r)
	if err != nil {
		return nil //nolint:nilerr // Accept has answered already
	}
	id := agent.ID
	a.detach(r, func() { // Board.Stop ends it
		err := a.c.Board.Agent(context.Background(), id, conn)
		a.c.Log.Debug("relay of an agent ended", "agent_id", id, "reason", err)
	})
	return nil
}

// clientRelay serves the WebSocket on which the packets of one tunnel travel.
func (a *API) clientRelay(w http.ResponseWriter, r *http.Request) error {
	agent, actor, err := a.tunnelAgent(r)
	if err != nil {
		return err
	}
	conn, err := a.acceptClient(w, r, agent)
	if conn == nil {
		return err
	}
	held, end := a.c.Identity.Hold(r.Context(), actor, func(ctx context.Context, now access.Subject) error {
		_, err := a.c.Presence.AgentForUser(ctx, now, agent.ID, coder.RBACActionSSH)
		return err
	}, notify.Sharing(agent.WorkspaceID))
	defer end()
	over := a.connected(r, agent, actor)
	err = a.c.Board.Client(held, agent.ID, conn)
	over(ending(held, r))
	a.c.Log.DebugContext(r.Context(), "relay of a client ended", "agent_id", agent.ID, "reason", err)
	return nil
}

// acceptClient takes the WebSocket of a tunnel to an agent. Without one and
// without an error it has answered already.
func (a *API) acceptClient(w http.ResponseWriter, r *http.Request, agent presence.Agent) (*websocket.Conn, error) {
	if err := a.c.Board.Elsewhere(r.Context(), agent.ID); err != nil {
		return nil, err
	}
	conn, err := tunnel.AcceptRelay(w, r)
	if err != nil {
		return nil, nil //nolint:nilerr // Accept has answered already
	}
	return conn, nil
}

// connected notes a tunnel: what for, its client says.
func (a *API) connected(r *http.Request, agent presence.Agent, actor access.Subject) (over func(reason string)) {
	if a.c.Connections == nil {
		return func(string) {}
	}
	kind := coder.ConnectionType(r.Header.Get(coder.ConnectionTypeHeader))
	switch kind {
	case coder.ConnectionTypeVSCode, coder.ConnectionTypeJetBrains, coder.ConnectionTypePortForwarding:
	default:
		kind = coder.ConnectionTypeSSH
	}
	return a.c.Connections.Open(connection.Connection{Type: kind, AgentID: agent.ID, UserID: actor.UserID, Origin: actor.Origin})
}

// ending says why a tunnel ended, as far as a server can know.
func ending(held context.Context, r *http.Request) string {
	if held.Err() != nil && r.Context().Err() == nil {
		return "The user lost the right to be there"
	}
	return "The client left"
}

// grantTunnel certifies a client for a tunnel.
func (a *API) grantTunnel(w http.ResponseWriter, r *http.Request) error {
	req, err := tunnelRequest(w, r)
	if err != nil {
		return err
	}
	agent, actor, err := a.tunnelAgent(r)
	if err != nil {
		return err
	}
	out, err := a.certify(req, agent, tunnel.Grant{
		UserID:  actor.UserID,
		Actions: []string{tunnel.KindSSH, tunnel.KindTCP, tunnel.KindUDP, tunnel.KindPTY, tunnel.KindAgentAPI},
	})
	if err != nil {
		return err
	}
	out.SSHHostKey = authorizedKey(a.c.Presence.HostKeySeed(agent))
	return reply(w, http.StatusOK, out)
}

// tunnelRequest reads whose key is to be certified.
func tunnelRequest(w http.ResponseWriter, r *http.Request) (coder.TunnelRequest, error) {
	req, err := decode[coder.TunnelRequest](w, r)
	if err == nil && len(req.PublicKey) != ed25519.PublicKeySize {
		err = coder.Invalid("public_key", "an ed25519 key of %d bytes is wanted", ed25519.PublicKeySize)
	}
	return req, err
}

// certify makes the grant of a tunnel to an agent.
func (a *API) certify(req coder.TunnelRequest, agent presence.Agent, g tunnel.Grant) (coder.TunnelGrant, error) {
	if len(agent.Certificate) == 0 {
		return coder.TunnelGrant{}, coder.Errorf(coder.CodeConflict, "The agent %q has not connected yet", agent.Name).
			WithDetail("its workspace may still be starting; its log says how far it has come")
	}
	g.WorkspaceID, g.AgentID = agent.WorkspaceID, agent.ID
	certificate, err := a.c.Authority.Issue(req.PublicKey, g, time.Now())
	return coder.TunnelGrant{
		Certificate: certificate, AgentCertificate: agent.Certificate, Actions: g.Actions,
		DisableDirectConnections: a.c.Presence.DisablesDirect(), STUNServers: a.c.Presence.STUN(),
	}, err
}

// tunnelSettings tells what tunnels are like here.
func (a *API) tunnelSettings(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.user(r); err != nil {
		return err
	}
	return reply(w, http.StatusOK, coder.TunnelSettings{
		DisableDirectConnections: a.c.Presence.DisablesDirect(), STUNServers: append([]string{}, a.c.Presence.STUN()...),
	})
}

// user gives the person whose token a request bears.
func (a *API) user(r *http.Request) (access.Subject, error) {
	token := r.Header.Get(client.SessionTokenHeader)
	if token == "" {
		token, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	origin := access.Origin{UserAgent: r.UserAgent()}
	if ap, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		origin.IP = ap.Addr().Unmap().WithZone("")
	}
	return a.c.Identity.Authenticate(r.Context(), token, origin)
}

// tunnelAgent gives the agent that a user asks for, who may open a tunnel to
// it: whoever may use SSH may use everything that goes through a tunnel.
func (a *API) tunnelAgent(r *http.Request) (presence.Agent, access.Subject, error) {
	actor, err := a.user(r)
	if err != nil {
		return presence.Agent{}, actor, err
	}
	id, err := uuid.Parse(r.PathValue("workspaceagent"))
	if err != nil {
		return presence.Agent{}, actor, coder.Invalid("workspaceagent", "%q is not a UUID", r.PathValue("workspaceagent"))
	}
	agent, err := a.c.Presence.AgentForUser(r.Context(), actor, id, coder.RBACActionSSH)
	if err == nil && a.c.BrowserOnly { // NET-12
		err = coder.Errorf(coder.CodeForbidden, "Workspaces of this deployment are reached through the browser only").
			WithDetail("use the web terminal and the apps of the dashboard; the server runs with --browser-only")
	}
	return agent, actor, err
}

// authorizedKey gives the public key of an ed25519 seed as SSH writes it: the
// name of the algorithm and the key, each after its length.
func authorizedKey(seed []byte) string {
	const algorithm = "ssh-ed25519"
	public := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	var b []byte
	for _, part := range [][]byte{[]byte(algorithm), public} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(part))), part...)
	}
	return algorithm + " " + base64.StdEncoding.EncodeToString(b)
}
