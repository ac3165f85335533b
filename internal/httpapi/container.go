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

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

// Bounds of what agents say of containers.
const (
	containersLimit = 4 << 20
	// containerPatience is how long an agent may take to do something: a container
	// is stopped in between.
	containerPatience = time.Minute
)

// containerRoutes are the routes of containers and dev containers below an agent,
// which is asked itself. (AG-21)
func (a *API) containerRoutes() []Route {
	const base = "/workspaceagents/{workspaceagent}/containers"
	const ssh, res = coder.RBACActionSSH, coder.RBACResourceWorkspace
	return []Route{
		{Method: "GET", Path: base, Summary: "List the containers and dev containers of an agent", Action: ssh, Resource: res, Out: coder.WorkspaceAgentListContainersResponse{}, Handler: a.getContainers},
		{Method: "GET", Path: base + "/watch", Summary: "Watch them, by WebSocket", Action: ssh, Resource: res, Out: coder.WorkspaceAgentListContainersResponse{}, Handler: a.watchContainers},
		{Method: "POST", Path: base + "/devcontainers/{devcontainer}/recreate", Summary: "Bring up a dev container, in place of the one there is", Action: ssh, Resource: res, Status: http.StatusAccepted, Out: coder.Response{}, Handler: a.recreateDevcontainer},
		{Method: "DELETE", Path: base + "/devcontainers/{devcontainer}", Summary: "Remove the container of a dev container", Action: ssh, Resource: res, Status: http.StatusNoContent, Handler: a.deleteDevcontainer},
	}
}

// containersOf gives the connected agent of a request, whose containers its user
// may look after.
func (a *API) containersOf(r *http.Request) (presence.Agent, error) {
	id, err := pathID(r, "workspaceagent")
	if err != nil {
		return presence.Agent{}, err
	}
	agent, err := a.Presence.AgentForUser(r.Context(), a.actor(r), id, coder.RBACActionSSH)
	if err != nil {
		return presence.Agent{}, err
	}
	if agent.Status != coder.WorkspaceAgentStatusConnected || a.AgentHTTP == nil {
		return presence.Agent{}, coder.Errorf(coder.CodeInvalid, "The agent is %s; its containers are known while it is connected", agent.Status)
	}
	return agent, nil
}

// askContainers asks an agent about its containers. Who gets an answer closes it.
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
		return nil, coder.Errorf(coder.CodeUnavailable, "The agent could not be reached; try again in a moment").WithCause(err)
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		return resp, nil
	}
	defer resp.Body.Close()
	code, ok := map[int]coder.Code{
		http.StatusForbidden: coder.CodeForbidden, http.StatusNotFound: coder.CodeNotFound, http.StatusConflict: coder.CodeConflict,
	}[resp.StatusCode]
	var said coder.Response
	if err := json.NewDecoder(io.LimitReader(resp.Body, containersLimit)).Decode(&said); err != nil || said.Message == "" {
		return nil, coder.Errorf(coder.CodeUnavailable, "This workspace's agent knows nothing of containers; start the workspace again to bring it up to date")
	}
	if !ok {
		code = coder.CodeUnavailable
	}
	return nil, coder.Errorf(code, "%s", clip(said.Message, 2048))
}

func (a *API) getContainers(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.containersOf(r)
	if err != nil {
		return err
	}
	resp, err := a.askContainers(r.Context(), agent, containerPatience, http.MethodGet, "", url.Values{"label": r.URL.Query()["label"]})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var all coder.WorkspaceAgentListContainersResponse
	if err := json.NewDecoder(io.LimitReader(resp.Body, containersLimit)).Decode(&all); err != nil {
		return coder.Errorf(coder.CodeUnavailable, "The agent's answer cannot be read").WithCause(err)
	}
	return reply(w, http.StatusOK, all)
}

// watchContainers passes on what the agent says as it changes, as long as the
// user may look.
func (a *API) watchContainers(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.containersOf(r)
	if err != nil {
		return err
	}
	ctx, stop := a.holdAgent(r, agent)
	defer stop()
	resp, err := a.askContainers(ctx, agent, 0, http.MethodGet, "/watch", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	conn, err := accept(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	ctx = conn.CloseRead(ctx)
	defer context.AfterFunc(ctx, func() { resp.Body.Close() })()
	said := bufio.NewScanner(resp.Body)
	said.Buffer(nil, containersLimit)
	for said.Scan() {
		var all coder.WorkspaceAgentListContainersResponse
		if err := json.Unmarshal(said.Bytes(), &all); err != nil {
			break
		}
		b, err := json.Marshal(all)
		if err == nil {
			write, cancel := context.WithTimeout(ctx, pingInterval)
			err = conn.Write(write, websocket.MessageText, b)
			cancel()
		}
		if err != nil {
			return nil //nolint:nilerr // the client is gone
		}
	}
	conn.Close(websocket.StatusGoingAway, "The agent says no more; ask again") //nolint:errcheck // the peer may be gone
	return nil
}

func (a *API) recreateDevcontainer(w http.ResponseWriter, r *http.Request) error {
	resp, err := a.changeDevcontainer(r, http.MethodPost, "/recreate")
	if err != nil {
		return err
	}
	var said coder.Response
	err = json.NewDecoder(io.LimitReader(resp.Body, containersLimit)).Decode(&said)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return coder.Errorf(coder.CodeUnavailable, "The agent's answer cannot be read").WithCause(err)
	}
	return reply(w, http.StatusAccepted, said)
}

func (a *API) deleteDevcontainer(w http.ResponseWriter, r *http.Request) error {
	resp, err := a.changeDevcontainer(r, http.MethodDelete, "")
	if err != nil {
		return err
	}
	resp.Body.Close() //nolint:errcheck // it is empty
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// changeDevcontainer has an agent do something with a dev container.
func (a *API) changeDevcontainer(r *http.Request, method, what string) (*http.Response, error) {
	agent, err := a.containersOf(r)
	if err != nil {
		return nil, err
	}
	id, err := pathID(r, "devcontainer")
	if err != nil {
		return nil, err
	}
	return a.askContainers(r.Context(), agent, containerPatience, method, "/devcontainers/"+id.String()+what, nil)
}
