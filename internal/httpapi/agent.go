package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// agentRoutes are the agent routes for users. Package agentapi serves the
// agents themselves.
func (a *API) agentRoutes() []rest.Route {
	if a.Presence == nil {
		return nil
	}
	const read, res = codersdk.RBACActionRead, codersdk.RBACResourceWorkspace
	return append(a.containerRoutes(), []rest.Route{
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}", Summary: "Get an agent",
			Action: read, Resource: res, Out: codersdk.WorkspaceAgent{}, Handler: a.getAgent},
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}/connection", Summary: "Get connection settings of an agent",
			Action: read, Resource: res, Out: agentConnection{}, Handler: a.getAgentConnection},
		{Method: "GET", Path: "/workspaceagents/connection", Summary: "Get connection settings of agents",
			Out: agentConnection{}, Handler: a.getConnection},
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}/listening-ports", Summary: "List the listening ports of a workspace",
			Action: codersdk.RBACActionSSH, Resource: res, Out: codersdk.WorkspaceAgentListeningPortsResponse{},
			Handler: a.getAgentListeningPorts},
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}/logs", Summary: "Get the log of an agent",
			Action: read, Resource: res, Out: []codersdk.WorkspaceAgentLog{}, Handler: a.getAgentLogs},
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}/startup-logs", Summary: "Get the log of an agent (former path)",
			Action: read, Resource: res, Out: []codersdk.WorkspaceAgentLog{}, Handler: a.getAgentLogs},
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}/pty", Summary: "Open a reconnecting terminal over a WebSocket",
			Action: codersdk.RBACActionSSH, Resource: res, Auth: rest.AuthSelf, Status: http.StatusSwitchingProtocols,
			Handler: a.terminalToken(a.openPTY)},
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}/watch-metadata",
			Summary: "Watch the metadata of an agent by server-sent events",
			Action:  read, Resource: res, Out: []codersdk.WorkspaceAgentMetadata{}, Handler: a.watchAgentMetadata(rest.ServeEvents)},
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}/watch-metadata-ws",
			Summary: "Watch the metadata of an agent over a WebSocket",
			Action:  read, Resource: res, Out: []codersdk.WorkspaceAgentMetadata{}, Handler: a.watchAgentMetadata(rest.ServeEventsWebSocket)},
	}...)
}

func (a *API) getAgent(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspaceagent")
	if err != nil {
		return err
	}
	agent, err := a.Presence.View(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, agent)
}

// agentConnection holds the connection settings of agents. The tunnels of this
// server need no relay map, so it is empty.
type agentConnection struct {
	DERPMap struct {
		Regions map[string]struct{} `json:"regions"`
	} `json:"derp_map"`
	DERPForceWebSockets      bool   `json:"derp_force_websockets"`
	DisableDirectConnections bool   `json:"disable_direct_connections"`
	HostnameSuffix           string `json:"hostname_suffix"`
}

func (a *API) getAgentConnection(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspaceagent")
	if err != nil {
		return err
	}
	if _, err := a.Presence.AgentForUser(r.Context(), rest.Actor(r), id, codersdk.RBACActionRead); err != nil {
		return err
	}
	return a.getConnection(w, r)
}

// getConnection replies with the connection settings, which are the same for
// all agents.
func (a *API) getConnection(w http.ResponseWriter, _ *http.Request) error {
	c := agentConnection{HostnameSuffix: a.sshConfig().HostnameSuffix, DisableDirectConnections: a.Presence.DisablesDirect()}
	c.DERPMap.Regions = map[string]struct{}{}
	return rest.Reply(w, http.StatusOK, c)
}

// getAgentLogs replies with the log of an agent as JSON or text. With follow,
// it streams JSON arrays of new lines over a WebSocket. (AG-09)
func (a *API) getAgentLogs(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspaceagent")
	if err != nil {
		return err
	}
	after, before, err := logBounds(r)
	if err != nil {
		return err
	}
	follow, err := rest.QueryFollow(r)
	if err != nil {
		return err
	}
	text, err := logAsText(r, follow)
	if err != nil {
		return err
	}
	if follow {
		return a.followAgentLogs(w, r, id, after)
	}
	logs, err := a.Presence.Logs(r.Context(), rest.Actor(r), id, after, before)
	if err != nil {
		return err
	}
	if !text {
		return rest.Reply(w, http.StatusOK, logs)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	for _, l := range logs {
		if _, err := fmt.Fprintf(w, "%s [%s] %s\n", l.CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z07:00"), l.Level, l.Output); err != nil {
			return nil //nolint:nilerr // the client went away
		}
	}
	return nil
}

func (a *API) followAgentLogs(w http.ResponseWriter, r *http.Request, id uuid.UUID, after int64) error {
	if _, err := a.Presence.AgentForUser(r.Context(), rest.Actor(r), id, codersdk.RBACActionRead); err != nil {
		return err
	}
	conn, err := rest.AcceptWebSocket(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	ctx := conn.CloseRead(r.Context())
	err = a.Presence.FollowLogs(ctx, rest.Actor(r), id, after, func(logs []codersdk.WorkspaceAgentLog) error {
		b, err := json.Marshal(logs)
		if err != nil {
			return err
		}
		write, cancel := context.WithTimeout(ctx, rest.PingInterval)
		defer cancel()
		return conn.Write(write, websocket.MessageText, b)
	})
	if err != nil && ctx.Err() == nil {
		conn.Close(websocket.StatusInternalError, rest.PublicMessage(err)) //nolint:errcheck // the peer may be gone
		return nil
	}
	conn.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // the peer may be gone
	return nil
}

// queryLogID reads a query parameter that is the id of a log line; it returns 0
// when the parameter is absent.
func queryLogID(r *http.Request, name string) (int64, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return 0, codersdk.Invalid(name, "%q is not the id of a log line", rest.Truncate(v, 32))
	}
	return n, nil
}

// watchAgentMetadata streams an agent's metadata. (AG-15)
func (a *API) watchAgentMetadata(serve func(http.ResponseWriter, *http.Request, rest.Watcher) error) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := rest.PathID(r, "workspaceagent")
		if err != nil {
			return err
		}
		actor := rest.Actor(r)
		if _, err := a.Presence.AgentForUser(r.Context(), actor, id, codersdk.RBACActionRead); err != nil {
			return err
		}
		return serve(w, r, func(ctx context.Context, each func(json.RawMessage) error) error {
			return a.Presence.WatchMetadata(ctx, actor, id, func(all []codersdk.WorkspaceAgentMetadata) error {
				b, err := json.Marshal(all)
				if err != nil {
					return err
				}
				return each(b)
			})
		})
	}
}

// getAgentListeningPorts requests the listening ports from the agent. (AG-18)
func (a *API) getAgentListeningPorts(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspaceagent")
	if err != nil {
		return err
	}
	agent, err := a.Presence.AgentForUser(r.Context(), rest.Actor(r), id, codersdk.RBACActionSSH)
	if err != nil {
		return err
	}
	if agent.Status != codersdk.WorkspaceAgentStatusConnected || a.AgentHTTP == nil {
		return codersdk.Errorf(codersdk.CodeInvalid, "The agent is %s; ports can be listed only while it is connected", agent.Status)
	}
	resp, err := a.AgentHTTP(agent).Get("http://agent/api/v0/listening-ports")
	if err != nil {
		return codersdk.Errorf(codersdk.CodeUnavailable, "The agent is not reachable; try again in a moment").WithCause(err)
	}
	defer resp.Body.Close()
	var ports codersdk.WorkspaceAgentListeningPortsResponse
	if resp.StatusCode != http.StatusOK {
		return codersdk.Errorf(codersdk.CodeUnavailable, "The agent could not list its ports")
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&ports); err != nil {
		return codersdk.Errorf(codersdk.CodeUnavailable, "The agent sent an invalid response; try again").WithCause(err)
	}
	shown, err := a.Presence.View(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	ports.Ports = withoutApps(ports.Ports, shown.Apps)
	return rest.Reply(w, http.StatusOK, ports)
}

// withoutApps leaves out the ports of apps, which the dashboard shows as apps.
func withoutApps(ports []codersdk.WorkspaceAgentListeningPort, apps []codersdk.WorkspaceApp) []codersdk.WorkspaceAgentListeningPort {
	taken := map[string]bool{}
	for _, p := range apps {
		u, err := url.Parse(p.URL)
		if err != nil || p.External {
			continue
		}
		if ip, err := netip.ParseAddr(u.Hostname()); u.Hostname() == "localhost" || err == nil && (ip.IsLoopback() || ip.IsUnspecified()) {
			taken[u.Port()] = true
		}
	}
	out := []codersdk.WorkspaceAgentListeningPort{}
	for _, p := range ports {
		if !taken[strconv.Itoa(int(p.Port))] {
			out = append(out, p)
		}
	}
	return out
}
