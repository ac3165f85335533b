package agentapi

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/switchboard"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// Paths for users, for the mux that contains this API. Their callers are
// programs: a token counts in a header only, never in a cookie.
const (
	ClientRelayPath = "/api/v2/workspaceagents/{workspaceagent}/relay"
	TunnelGrantPath = "/api/v2/workspaceagents/{workspaceagent}/tunnel"
	// TunnelSettingsPath is for clients that check a network before there is an
	// agent.
	TunnelSettingsPath = "/api/v2/tunnel"
	// CoordinatePath is where workspace proxies open their own tunnels.
	CoordinatePath = "/api/v2/workspaceproxies/me/coordinate/{workspaceagent}"
	// ProxyRelayKeyPath is where workspace proxies get the key of relay tokens.
	ProxyRelayKeyPath = "/api/v2/workspaceproxies/me/relay"
)

// relayRoutes registers the relay and the grants of tunnels.
func (a *API) relayRoutes() {
	a.handle("GET /api/v2/workspaceagents/me/relay", a.agentRelay)
	a.handle("GET "+ClientRelayPath, a.clientRelay)
	a.handle("POST "+TunnelGrantPath, a.grantTunnel)
	a.handle("GET "+TunnelSettingsPath, a.tunnelSettings)
	a.handle("POST "+CoordinatePath, a.grantProxy)
	a.handle("GET "+CoordinatePath, a.proxyRelay)
	a.handle("GET "+ProxyRelayKeyPath, a.proxyRelayKey)
	a.handle("GET "+switchboard.HopPath+"{workspaceagent}", a.replicaRelay)
}

// replicaRelay serves the WebSocket on which another replica forwards one
// client's packets to an agent that is connected here.
func (a *API) replicaRelay(w http.ResponseWriter, r *http.Request) error {
	id, err := uuid.Parse(r.PathValue("workspaceagent"))
	if err != nil {
		return codersdk.Invalid("workspaceagent", "%q is not a UUID", r.PathValue("workspaceagent"))
	}
	if err := a.c.Board.AdmitHop(r.Header.Get(switchboard.HopHeader), id); err != nil {
		return err
	}
	conn, err := tunnel.AcceptRelay(w, r)
	if err != nil {
		return nil //nolint:nilerr // Accept has replied already
	}
	err = a.c.Board.Hop(r.Context(), id, conn)
	a.c.Log.DebugContext(r.Context(), "relay of another replica ended", "agent_id", id, "reason", err)
	return nil
}

// agentRelay serves the WebSocket that carries the packets of all tunnels to an
// agent.
func (a *API) agentRelay(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.agent(r)
	if err != nil {
		return err
	}
	conn, err := tunnel.AcceptRelay(w, r)
	if err != nil {
		return nil //nolint:nilerr // Accept has replied already
	}
	id := agent.ID
	a.detach(r, func() { // Board.Stop ends it
		err := a.c.Board.Agent(context.Background(), id, conn)
		a.c.Log.Debug("relay of an agent ended", "agent_id", id, "reason", err)
	})
	return nil
}

// clientRelay serves the WebSocket that carries the packets of one tunnel.
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
		_, err := a.c.Presence.AgentForUser(ctx, now, agent.ID, codersdk.RBACActionSSH)
		return err
	}, notify.Sharing(agent.WorkspaceID))
	defer end()
	// A client that waits for an agent dials repeatedly. It counts as connected
	// once the agent is.
	over := func(string) {}
	met := sync.OnceFunc(func() { over = a.connected(r, agent, actor) })
	err = a.c.Board.Client(held, agent.ID, conn, met)
	over(ending(held, r))
	a.c.Log.DebugContext(r.Context(), "relay of a client ended", "agent_id", agent.ID, "reason", err)
	return nil
}

// acceptClient accepts the WebSocket of a tunnel to an agent. If it returns
// neither a connection nor an error, it has replied already.
func (a *API) acceptClient(w http.ResponseWriter, r *http.Request, agent presence.Agent) (*websocket.Conn, error) {
	if err := a.c.Board.Elsewhere(r.Context(), agent.ID); err != nil {
		return nil, err
	}
	conn, err := tunnel.AcceptRelay(w, r)
	if err != nil {
		return nil, nil //nolint:nilerr // Accept has replied already
	}
	return conn, nil
}

// connected records a tunnel in the connection log, with the purpose that its
// client states.
func (a *API) connected(r *http.Request, agent presence.Agent, actor access.Subject) (over func(reason string)) {
	if a.c.Connections == nil {
		return func(string) {}
	}
	kind := codersdk.ConnectionType(r.Header.Get(codersdk.ConnectionTypeHeader))
	switch kind {
	case codersdk.ConnectionTypeVSCode, codersdk.ConnectionTypeJetBrains, codersdk.ConnectionTypeReconnectingPTY, codersdk.ConnectionTypePortForwarding:
	default:
		kind = codersdk.ConnectionTypeSSH
	}
	return a.c.Connections.Open(connection.Connection{Type: kind, AgentID: agent.ID, UserID: actor.UserID, Origin: actor.Origin})
}

// ending returns why a tunnel ended, as far as the server knows.
func ending(held context.Context, r *http.Request) string {
	if held.Err() != nil && r.Context().Err() == nil {
		return "The user lost access"
	}
	return "The client disconnected"
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
		Actions: []string{tunnel.KindSSH, tunnel.KindTCP, tunnel.KindUDP, tunnel.KindPTY, tunnel.KindAgentAPI, tunnel.KindRelay},
	})
	if err != nil {
		return err
	}
	out.Proxies = a.relayProxies(r.Context(), agent.ID)
	out.SSHHostKey = authorizedKey(a.c.Presence.HostKeySeed(agent))
	return reply(w, http.StatusOK, out)
}

// tunnelRequest reads the public key that is to be certified.
func tunnelRequest(w http.ResponseWriter, r *http.Request) (codersdk.TunnelRequest, error) {
	req, err := decode[codersdk.TunnelRequest](w, r)
	if err == nil && len(req.PublicKey) != ed25519.PublicKeySize {
		err = codersdk.Invalid("public_key", "must be an ed25519 key of %d bytes", ed25519.PublicKeySize)
	}
	return req, err
}

// certify returns the grant of a tunnel to an agent.
func (a *API) certify(req codersdk.TunnelRequest, agent presence.Agent, g tunnel.Grant) (codersdk.TunnelGrant, error) {
	if len(agent.Certificate) == 0 {
		return codersdk.TunnelGrant{}, codersdk.Errorf(codersdk.CodeConflict, "Agent %q has not connected yet", agent.Name).
			WithDetail("its workspace may still be starting; check the log of the workspace")
	}
	g.WorkspaceID, g.AgentID = agent.WorkspaceID, agent.ID
	certificate, err := a.c.Authority.Issue(req.PublicKey, g, a.c.Now())
	return codersdk.TunnelGrant{
		Certificate: certificate, AgentCertificate: agent.Certificate, Actions: g.Actions,
		DisableDirectConnections: a.c.Presence.DisablesDirect(), STUNServers: a.c.Presence.STUN(),
	}, err
}

// tunnelSettings replies with the deployment's tunnel settings.
func (a *API) tunnelSettings(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.user(r); err != nil {
		return err
	}
	return reply(w, http.StatusOK, codersdk.TunnelSettings{
		DisableDirectConnections: a.c.Presence.DisablesDirect(), STUNServers: append([]string{}, a.c.Presence.STUN()...),
	})
}

// user returns the user whose token a request carries.
func (a *API) user(r *http.Request) (access.Subject, error) {
	token := r.Header.Get(codersdk.SessionTokenHeader)
	if token == "" {
		token, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	}
	origin := access.Origin{UserAgent: r.UserAgent(), Path: r.URL.Path}
	if outer, ok := access.OriginOf(r.Context()); ok { // a handler of this process calls the API for its own request
		origin.Path = outer.Path
	}
	if ap, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		origin.IP = ap.Addr().Unmap().WithZone("")
	}
	return a.c.Identity.Authenticate(r.Context(), token, origin)
}

// tunnelAgent returns the agent that a user asks for. Users with SSH access may
// use everything that a tunnel carries.
func (a *API) tunnelAgent(r *http.Request) (presence.Agent, access.Subject, error) {
	actor, err := a.user(r)
	if err != nil {
		return presence.Agent{}, actor, err
	}
	id, err := uuid.Parse(r.PathValue("workspaceagent"))
	if err != nil {
		return presence.Agent{}, actor, codersdk.Invalid("workspaceagent", "%q is not a UUID", r.PathValue("workspaceagent"))
	}
	agent, err := a.c.Presence.AgentForUser(r.Context(), actor, id, codersdk.RBACActionSSH)
	if err == nil && a.c.BrowserOnly { // NET-12
		err = codersdk.Errorf(codersdk.CodeForbidden, "Workspaces of this deployment are available in the browser only").
			WithDetail("use the web terminal and apps of the dashboard; the server runs with --browser-only")
	}
	return agent, actor, err
}

// authorizedKey returns the public key of an ed25519 seed in SSH form: the
// algorithm and the key, each after its length.
func authorizedKey(seed []byte) string {
	const algorithm = "ssh-ed25519"
	public := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	var b []byte
	for _, part := range [][]byte{[]byte(algorithm), public} {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(part))), part...)
	}
	return algorithm + " " + base64.StdEncoding.EncodeToString(b)
}
