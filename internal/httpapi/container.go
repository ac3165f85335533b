package httpapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

// Bounds of agents' responses about containers.
const (
	containersLimit = 4 << 20
	// containerTimeout is the maximum duration of one request to an agent,
	// which may have to stop a container.
	containerTimeout = time.Minute
)

// containerRoutes are the containers and dev containers of an agent. The agent
// itself answers. (AG-21)
func (a *API) containerRoutes() []rest.Route {
	const base = "/workspaceagents/{workspaceagent}/containers"
	const ssh, res = codersdk.RBACActionSSH, codersdk.RBACResourceWorkspace
	return []rest.Route{
		{Method: "GET", Path: base, Summary: "List the containers and dev containers of an agent",
			Action: ssh, Resource: res, Out: codersdk.WorkspaceAgentListContainersResponse{}, Handler: a.getContainers},
		{Method: "GET", Path: base + "/watch", Summary: "Watch the containers and dev containers of an agent over a WebSocket",
			Action: ssh, Resource: res, Out: codersdk.WorkspaceAgentListContainersResponse{}, Handler: a.watchContainers},
		{Method: "POST", Path: base + "/devcontainers/{devcontainer}/recreate", Summary: "Recreate a dev container",
			Action: ssh, Resource: res, Status: http.StatusAccepted, Out: codersdk.Response{}, Handler: a.recreateDevcontainer},
		{Method: "DELETE", Path: base + "/devcontainers/{devcontainer}", Summary: "Remove the container of a dev container",
			Action: ssh, Resource: res, Status: http.StatusNoContent, Handler: a.deleteDevcontainer},
	}
}

// containersOf returns the connected agent of the request, after checking that
// the user may manage its containers.
func (a *API) containersOf(r *http.Request) (presence.Agent, error) {
	id, err := rest.PathID(r, "workspaceagent")
	if err != nil {
		return presence.Agent{}, err
	}
	agent, err := a.Presence.AgentForUser(r.Context(), rest.Actor(r), id, codersdk.RBACActionSSH)
	if err != nil {
		return presence.Agent{}, err
	}
	if agent.Status != codersdk.WorkspaceAgentStatusConnected || a.AgentHTTP == nil {
		return presence.Agent{}, codersdk.Errorf(codersdk.CodeInvalid,
			"The agent is %s; containers can be listed only while it is connected. Start the workspace or wait for its agent", agent.Status)
	}
	return agent, nil
}

// askContainers sends a request about containers to an agent. The caller closes
// the body of the response.
func (a *API) askContainers(ctx context.Context, agent presence.Agent, patience time.Duration, method, path string, q url.Values) (*http.Response, error) {
	u := url.URL{Scheme: "http", Host: "agent", Path: "/api/v0/containers" + path, RawQuery: q.Encode()}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	c := *a.AgentHTTP(agent)
	c.Timeout = patience
	resp, err := c.Do(req)
	if err != nil {
		return nil, codersdk.Errorf(codersdk.CodeUnavailable, "The agent is not reachable; try again in a moment").WithCause(err)
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return resp, nil
	}
	defer resp.Body.Close()
	code, ok := map[int]codersdk.Code{
		http.StatusForbidden: codersdk.CodeForbidden, http.StatusNotFound: codersdk.CodeNotFound, http.StatusConflict: codersdk.CodeConflict,
	}[resp.StatusCode]
	var said codersdk.Response
	if err := json.NewDecoder(io.LimitReader(resp.Body, containersLimit)).Decode(&said); err != nil || said.Message == "" {
		return nil, codersdk.Errorf(codersdk.CodeUnavailable, "The agent of this workspace is too old to manage containers; restart the workspace to update it")
	}
	if !ok {
		code = codersdk.CodeUnavailable
	}
	return nil, codersdk.Errorf(code, "%s", rest.Truncate(said.Message, 2048))
}

func (a *API) getContainers(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.containersOf(r)
	if err != nil {
		return err
	}
	resp, err := a.askContainers(r.Context(), agent, containerTimeout, http.MethodGet, "", url.Values{"label": r.URL.Query()["label"]})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var all codersdk.WorkspaceAgentListContainersResponse
	if err := json.NewDecoder(io.LimitReader(resp.Body, containersLimit)).Decode(&all); err != nil {
		return codersdk.Errorf(codersdk.CodeUnavailable, "The agent sent an invalid response; try again").WithCause(err)
	}
	return rest.Reply(w, http.StatusOK, all)
}

// watchContainers forwards the agent's updates while the user has access to the
// agent.
func (a *API) watchContainers(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.containersOf(r)
	if err != nil {
		return err
	}
	ctx, stop := a.agentContext(r, agent)
	defer stop()
	resp, err := a.askContainers(ctx, agent, 0, http.MethodGet, "/watch", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	conn, err := rest.AcceptWebSocket(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	ctx = conn.CloseRead(ctx)
	defer context.AfterFunc(ctx, func() { resp.Body.Close() })()
	said := bufio.NewScanner(resp.Body)
	said.Buffer(nil, containersLimit)
	for said.Scan() {
		var all codersdk.WorkspaceAgentListContainersResponse
		if err := json.Unmarshal(said.Bytes(), &all); err != nil {
			break
		}
		b, err := json.Marshal(all)
		if err == nil {
			write, cancel := context.WithTimeout(ctx, rest.PingInterval)
			err = conn.Write(write, websocket.MessageText, b)
			cancel()
		}
		if err != nil {
			return nil //nolint:nilerr // the client is gone
		}
	}
	conn.Close(websocket.StatusGoingAway, "The agent closed the stream; reconnect") //nolint:errcheck // the peer may be gone
	return nil
}

func (a *API) recreateDevcontainer(w http.ResponseWriter, r *http.Request) error {
	resp, err := a.changeDevcontainer(r, http.MethodPost, "/recreate")
	if err != nil {
		return err
	}
	var said codersdk.Response
	err = json.NewDecoder(io.LimitReader(resp.Body, containersLimit)).Decode(&said)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return codersdk.Errorf(codersdk.CodeUnavailable, "The agent sent an invalid response; try again").WithCause(err)
	}
	return rest.Reply(w, http.StatusAccepted, said)
}

func (a *API) deleteDevcontainer(w http.ResponseWriter, r *http.Request) error {
	resp, err := a.changeDevcontainer(r, http.MethodDelete, "")
	if err != nil {
		return err
	}
	resp.Body.Close() //nolint:errcheck // the body is empty
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// changeDevcontainer sends a request about one dev container to its agent.
func (a *API) changeDevcontainer(r *http.Request, method, what string) (*http.Response, error) {
	agent, err := a.containersOf(r)
	if err != nil {
		return nil, err
	}
	id, err := rest.PathID(r, "devcontainer")
	if err != nil {
		return nil, err
	}
	return a.askContainers(r.Context(), agent, containerTimeout, method, "/devcontainers/"+id.String()+what, nil)
}
