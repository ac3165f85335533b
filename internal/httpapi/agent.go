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

	"github.com/seed-2a7f8fe7/coder"
)

// agentRoutes are the routes of agents for people; those that agents use
// themselves are served by agentapi.
func (a *API) agentRoutes() []Route {
	if a.Presence == nil {
		return nil
	}
	const read, res = coder.RBACActionRead, coder.RBACResourceWorkspace
	return append(a.containerRoutes(), []Route{
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}", Summary: "Get an agent", Action: read, Resource: res, Out: coder.WorkspaceAgent{}, Handler: a.getAgent},
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}/connection", Summary: "How to connect to an agent", Action: read, Resource: res, Out: agentConnection{}, Handler: a.getAgentConnection},
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}/listening-ports", Summary: "List the ports that something in a workspace listens on", Action: coder.RBACActionSSH, Resource: res, Out: coder.WorkspaceAgentListeningPortsResponse{}, Handler: a.getAgentListeningPorts},
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}/logs", Summary: "Get the log of an agent", Action: read, Resource: res, Out: []coder.WorkspaceAgentLog{}, Handler: a.getAgentLogs},
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}/startup-logs", Summary: "Get the log of an agent, by its former name", Action: read, Resource: res, Out: []coder.WorkspaceAgentLog{}, Handler: a.getAgentLogs},
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}/pty", Summary: "Open a terminal that can be come back to, by WebSocket", Action: coder.RBACActionSSH, Resource: res, Auth: AuthSelf, Status: http.StatusSwitchingProtocols, Handler: a.terminalToken(a.openPTY)},
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}/watch-metadata", Summary: "Watch the metadata of an agent by server-sent events", Action: read, Resource: res, Out: []coder.WorkspaceAgentMetadata{}, Handler: a.watchAgentMetadata(serveEvents)},
		{Method: "GET", Path: "/workspaceagents/{workspaceagent}/watch-metadata-ws", Summary: "Watch the metadata of an agent", Action: read, Resource: res, Out: []coder.WorkspaceAgentMetadata{}, Handler: a.watchAgentMetadata(serveEventsWebSocket)},
	}...)
}

func (a *API) getAgent(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspaceagent")
	if err != nil {
		return err
	}
	agent, err := a.Presence.View(r.Context(), a.actor(r), id)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, agent)
}

// agentConnection is how to connect to an agent. Our tunnels need no map of
// relays, so it is empty.
type agentConnection struct {
	DERPMap struct {
		Regions map[string]struct{} `json:"regions"`
	} `json:"derp_map"`
	DERPForceWebSockets      bool   `json:"derp_force_websockets"`
	DisableDirectConnections bool   `json:"disable_direct_connections"`
	HostnameSuffix           string `json:"hostname_suffix"`
}

func (a *API) getAgentConnection(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspaceagent")
	if err != nil {
		return err
	}
	if _, err := a.Presence.AgentForUser(r.Context(), a.actor(r), id, coder.RBACActionRead); err != nil {
		return err
	}
	c := agentConnection{HostnameSuffix: a.SSH.HostnameSuffix, DisableDirectConnections: a.Presence.DisablesDirect()}
	c.DERPMap.Regions = map[string]struct{}{}
	return reply(w, http.StatusOK, c)
}

// getAgentLogs answers with the log of an agent: JSON or text, or with follow
// JSON arrays over a WebSocket as lines come. (AG-09)
func (a *API) getAgentLogs(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspaceagent")
	if err != nil {
		return err
	}
	after, before, err := logBounds(r)
	if err != nil {
		return err
	}
	follow, err := queryBool(r, "follow")
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
	logs, err := a.Presence.Logs(r.Context(), a.actor(r), id, after, before)
	if err != nil {
		return err
	}
	if !text {
		return reply(w, http.StatusOK, logs)
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
	if _, err := a.Presence.AgentForUser(r.Context(), a.actor(r), id, coder.RBACActionRead); err != nil {
		return err
	}
	conn, err := accept(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	ctx := conn.CloseRead(r.Context())
	err = a.Presence.FollowLogs(ctx, a.actor(r), id, after, func(logs []coder.WorkspaceAgentLog) error {
		b, err := json.Marshal(logs)
		if err != nil {
			return err
		}
		write, cancel := context.WithTimeout(ctx, pingInterval)
		defer cancel()
		return conn.Write(write, websocket.MessageText, b)
	})
	if err != nil && ctx.Err() == nil {
		conn.Close(websocket.StatusInternalError, publicMessage(err)) //nolint:errcheck // the peer may be gone
		return nil
	}
	conn.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // the peer may be gone
	return nil
}

// queryLogID reads a query parameter that is the id of a log line; 0 when absent.
func queryLogID(r *http.Request, name string) (int64, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return 0, coder.Invalid(name, "%q is not the id of a log line", clip(v, 32))
	}
	return n, nil
}

// watchAgentMetadata streams what an agent collects. (AG-15)
func (a *API) watchAgentMetadata(serve func(http.ResponseWriter, *http.Request, watcher) error) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := pathID(r, "workspaceagent")
		if err != nil {
			return err
		}
		actor := a.actor(r)
		if _, err := a.Presence.AgentForUser(r.Context(), actor, id, coder.RBACActionRead); err != nil {
			return err
		}
		return serve(w, r, func(ctx context.Context, each func(json.RawMessage) error) error {
			return a.Presence.WatchMetadata(ctx, actor, id, func(all []coder.WorkspaceAgentMetadata) error {
				b, err := json.Marshal(all)
				if err != nil {
					return err
				}
				return each(b)
			})
		})
	}
}

// getAgentListeningPorts asks the agent itself. (AG-18)
func (a *API) getAgentListeningPorts(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspaceagent")
	if err != nil {
		return err
	}
	agent, err := a.Presence.AgentForUser(r.Context(), a.actor(r), id, coder.RBACActionSSH)
	if err != nil {
		return err
	}
	if agent.Status != coder.WorkspaceAgentStatusConnected || a.AgentHTTP == nil {
		return coder.Errorf(coder.CodeInvalid, "The agent is %s; its ports are known while it is connected", agent.Status)
	}
	resp, err := a.AgentHTTP(agent).Get("http://agent/api/v0/listening-ports")
	if err != nil {
		return coder.Errorf(coder.CodeUnavailable, "The agent could not be reached; try again in a moment").WithCause(err)
	}
	defer resp.Body.Close()
	var ports coder.WorkspaceAgentListeningPortsResponse
	if resp.StatusCode != http.StatusOK {
		return coder.Errorf(coder.CodeUnavailable, "The agent could not list its ports")
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&ports); err != nil {
		return coder.Errorf(coder.CodeUnavailable, "The agent's answer cannot be read").WithCause(err)
	}
	shown, err := a.Presence.View(r.Context(), a.actor(r), id)
	if err != nil {
		return err
	}
	ports.Ports = withoutApps(ports.Ports, shown.Apps)
	return reply(w, http.StatusOK, ports)
}

// withoutApps leaves out the ports of apps, which are shown as apps.
func withoutApps(ports []coder.WorkspaceAgentListeningPort, apps []coder.WorkspaceApp) []coder.WorkspaceAgentListeningPort {
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
	out := []coder.WorkspaceAgentListeningPort{}
	for _, p := range ports {
		if !taken[strconv.Itoa(int(p.Port))] {
			out = append(out, p)
		}
	}
	return out
}
