package httpapi

import (
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// workspaceRoutes are the routes of workspaces.
func (a *API) workspaceRoutes() []Route {
	if a.Workspaces == nil {
		return nil
	}
	const res = coder.RBACResourceWorkspace
	return []Route{
		{Method: "GET", Path: "/workspaces", Summary: "List workspaces", Query: paged(searched("Part of a name, owner/name, and owner:, name:, name_exact:, template:, organization:, status:, has-agent:, healthy:, dormant:, outdated:, shared:, has-ai-task:, has_external_agent:, last_used_before:, last_used_after:, id:, param:.")), Action: coder.RBACActionRead, Resource: res, Out: coder.WorkspacesResponse{}, Handler: a.listWorkspaces},
		{Method: "POST", Path: "/users/{user}/workspaces", Summary: "Create a workspace", Action: coder.RBACActionCreate, Resource: res, In: coder.CreateWorkspaceRequest{}, Out: coder.Workspace{}, Handler: a.createWorkspace},
		{Method: "POST", Path: "/organizations/{organization}/members/{user}/workspaces", Summary: "Create a workspace in an organization", Action: coder.RBACActionCreate, Resource: res, In: coder.CreateWorkspaceRequest{}, Out: coder.Workspace{}, Handler: a.createWorkspace},
		{Method: "GET", Path: "/users/{user}/workspace/{workspacename}", Summary: "Get a workspace by owner and name", Action: coder.RBACActionRead, Resource: res, Out: coder.Workspace{}, Handler: a.getWorkspaceByName},
		{Method: "GET", Path: "/workspaces/{workspace}", Summary: "Get a workspace", Action: coder.RBACActionRead, Resource: res, Out: coder.Workspace{}, Handler: a.getWorkspace},
		{Method: "PATCH", Path: "/workspaces/{workspace}", Summary: "Rename a workspace", Action: coder.RBACActionUpdate, Resource: res, In: coder.UpdateWorkspaceRequest{}, Status: 204, Handler: a.patchWorkspace},
		{Method: "PUT", Path: "/workspaces/{workspace}/autostart", Summary: "Set when a workspace starts", Action: coder.RBACActionUpdate, Resource: res, In: coder.UpdateWorkspaceAutostartRequest{}, Status: 204, Handler: a.putAutostart},
		{Method: "PUT", Path: "/workspaces/{workspace}/ttl", Summary: "Set how long a workspace runs", Action: coder.RBACActionUpdate, Resource: res, In: coder.UpdateWorkspaceTTLRequest{}, Status: 204, Handler: a.putTTL},
		{Method: "PUT", Path: "/workspaces/{workspace}/autoupdates", Summary: "Set whether a workspace follows the active version", Action: coder.RBACActionUpdate, Resource: res, In: coder.UpdateWorkspaceAutomaticUpdatesRequest{}, Status: 204, Handler: a.putAutoupdates},
		{Method: "PUT", Path: "/workspaces/{workspace}/dormant", Summary: "Make a workspace dormant or wake it", Action: coder.RBACActionUpdate, Resource: res, In: coder.UpdateWorkspaceDormancy{}, Out: coder.Workspace{}, Handler: a.putDormant},
		{Method: "PUT", Path: "/workspaces/{workspace}/extend", Summary: "Extend the deadline of a running workspace", Action: coder.RBACActionUpdate, Resource: res, In: coder.PutExtendWorkspaceRequest{}, Out: coder.Response{}, Handler: a.putExtend},
		{Method: "PUT", Path: "/workspaces/{workspace}/favorite", Summary: "Make a workspace a favorite", Action: coder.RBACActionRead, Resource: res, Status: 204, Handler: a.favorite(true)},
		{Method: "DELETE", Path: "/workspaces/{workspace}/favorite", Summary: "Make a workspace no favorite", Action: coder.RBACActionRead, Resource: res, Status: 204, Handler: a.favorite(false)},
		{Method: "POST", Path: "/workspaces/{workspace}/usage", Summary: "Say that a workspace is in use", Action: coder.RBACActionSSH, Resource: res, In: coder.PostWorkspaceUsageRequest{}, Status: 204, Handler: a.postUsage},
		{Method: "GET", Path: "/workspaces/{workspace}/resolve-autostart", Summary: "Whether an automatic start lacks parameters", Action: coder.RBACActionRead, Resource: res, Out: coder.ResolveAutostartResponse{}, Handler: a.getResolveAutostart},
		{Method: "GET", Path: "/workspaces/{workspace}/timings", Summary: "How long the latest build took", Action: coder.RBACActionRead, Resource: res, Out: coder.WorkspaceBuildTimings{}, Handler: a.getWorkspaceTimings},
		{Method: "GET", Path: "/workspaces/{workspace}/watch", Summary: "Watch a workspace by server-sent events", Action: coder.RBACActionRead, Resource: res, Handler: a.watchWorkspace(serveEvents)},
		{Method: "GET", Path: "/workspaces/{workspace}/watch-ws", Summary: "Watch a workspace by WebSocket", Action: coder.RBACActionRead, Resource: res, Out: coder.ServerSentEvent{}, Handler: a.watchWorkspace(serveEventsWebSocket)},
		{Method: "GET", Path: "/workspaces/{workspace}/external-agent/{agent}/credentials", Summary: "Get the token of an external agent", Action: coder.RBACActionUpdate, Resource: res, Out: coder.ExternalAgentCredentials{}, Handler: a.getExternalAgent},
	}
}

func (a *API) listWorkspaces(w http.ResponseWriter, r *http.Request) error {
	s, err := a.workspaceSearch(r)
	if err != nil {
		return err
	}
	if s.Limit, s.Offset, err = page(r); err != nil {
		return err
	}
	out, err := a.Workspaces.Workspaces(r.Context(), a.actor(r), s)
	if err != nil {
		return err
	}
	return reply(w, 200, out)
}

// workspaceSearch reads the search terms of q. A word without a key is part of
// a name, or owner/name. (WS-23)
func (a *API) workspaceSearch(r *http.Request) (workspace.Search, error) {
	t, err := search(r.URL.Query().Get("q"))
	if err != nil {
		return workspace.Search{}, err
	}
	s := workspace.Search{
		Owner: t.text("owner"), Name: t.text("name"), NameExact: t.text("name_exact"), Template: t.text("template"), Organization: t.text("organization"),
		Status: coder.WorkspaceStatus(t.oneOf("status", "canceled", "canceling", "deleted", "deleting", "failed",
			"pending", "running", "starting", "stopped", "stopping")),
		AgentStatus: coder.WorkspaceAgentStatus(t.oneOf("has-agent", "connected", "connecting", "disconnected", "timeout")),
		Healthy:     t.boolean("healthy"), Dormant: t.boolean("dormant"), Outdated: t.boolean("outdated"), Shared: t.boolean("shared"),
		HasAITask: t.boolean("has-ai-task"), HasExternalAgent: t.boolean("has_external_agent"),
		LastUsedBefore: t.time("last_used_before"), LastUsedAfter: t.time("last_used_after"),
	}
	for _, v := range t.texts("id") {
		id, err := uuid.Parse(v)
		if err != nil {
			t.refuse("id", "%q is not a UUID", clip(v, 64))
		}
		s.IDs = append(s.IDs, id)
	}
	for _, v := range t.texts("param") {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			t.refuse("param", "%q is not of the form name=value", clip(v, 64))
		}
		s.Parameters = append(s.Parameters, coder.WorkspaceBuildParameter{Name: name, Value: value})
	}
	if owner, name, ok := strings.Cut(t.word(), "/"); ok && s.Owner == "" && s.NameExact == "" {
		s.Owner, s.NameExact = owner, name
	} else if t.word() != "" && s.Name != "" {
		t.refuse("name", "is given twice: by its key and as %q", clip(t.word(), 64))
	} else if t.word() != "" {
		s.Name = t.word()
	}
	if s.Owner == "me" {
		s.Owner, s.OwnerID = "", a.actor(r).UserID
	}
	return s, t.done()
}

func (a *API) createWorkspace(w http.ResponseWriter, r *http.Request) error {
	req, err := decode[coder.CreateWorkspaceRequest](r)
	if err != nil {
		return err
	}
	owner, err := a.pathOwner(r)
	if err != nil {
		return err
	}
	var org coder.Organization
	if r.PathValue("organization") != "" {
		if org, err = a.pathOrganization(r); err != nil {
			return err
		}
	}
	made, err := a.Workspaces.CreateWorkspace(r.Context(), a.actor(r), org.ID, owner, req)
	if err != nil {
		return err
	}
	return reply(w, 200, made)
}

func (a *API) getWorkspace(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspace")
	if err != nil {
		return err
	}
	deleted, err := queryBool(r, "include_deleted")
	if err != nil {
		return err
	}
	out, err := a.Workspaces.Workspace(r.Context(), a.actor(r), id, deleted)
	if err != nil {
		return err
	}
	return reply(w, 200, out)
}

func (a *API) getWorkspaceByName(w http.ResponseWriter, r *http.Request) error {
	owner, err := a.pathOwner(r)
	if err != nil {
		return err
	}
	deleted, err := queryBool(r, "include_deleted")
	if err != nil {
		return err
	}
	out, err := a.Workspaces.WorkspaceByOwnerAndName(r.Context(), a.actor(r), owner, r.PathValue("workspacename"), deleted)
	if err != nil {
		return err
	}
	return reply(w, 200, out)
}

// set reads the workspace's id and the body of a setting.
func setting[T any](r *http.Request) (id uuid.UUID, req T, err error) {
	if id, err = pathID(r, "workspace"); err != nil {
		return id, req, err
	}
	req, err = decode[T](r)
	return id, req, err
}

func (a *API) patchWorkspace(w http.ResponseWriter, r *http.Request) error {
	id, req, err := setting[coder.UpdateWorkspaceRequest](r)
	if err != nil {
		return err
	}
	if err := a.Workspaces.UpdateWorkspace(r.Context(), a.actor(r), id, req); err != nil {
		return err
	}
	return done(w)
}

func (a *API) putAutostart(w http.ResponseWriter, r *http.Request) error {
	id, req, err := setting[coder.UpdateWorkspaceAutostartRequest](r)
	if err != nil {
		return err
	}
	if err := a.Workspaces.UpdateWorkspaceAutostart(r.Context(), a.actor(r), id, req); err != nil {
		return err
	}
	return done(w)
}

func (a *API) putTTL(w http.ResponseWriter, r *http.Request) error {
	id, req, err := setting[coder.UpdateWorkspaceTTLRequest](r)
	if err != nil {
		return err
	}
	if err := a.Workspaces.UpdateWorkspaceTTL(r.Context(), a.actor(r), id, req); err != nil {
		return err
	}
	return done(w)
}

func (a *API) putAutoupdates(w http.ResponseWriter, r *http.Request) error {
	id, req, err := setting[coder.UpdateWorkspaceAutomaticUpdatesRequest](r)
	if err != nil {
		return err
	}
	if err := a.Workspaces.UpdateWorkspaceAutomaticUpdates(r.Context(), a.actor(r), id, req); err != nil {
		return err
	}
	return done(w)
}

func (a *API) putDormant(w http.ResponseWriter, r *http.Request) error {
	id, req, err := setting[coder.UpdateWorkspaceDormancy](r)
	if err != nil {
		return err
	}
	out, err := a.Workspaces.UpdateWorkspaceDormancy(r.Context(), a.actor(r), id, req)
	if err != nil {
		return err
	}
	return reply(w, 200, out)
}

func (a *API) putExtend(w http.ResponseWriter, r *http.Request) error {
	id, req, err := setting[coder.PutExtendWorkspaceRequest](r)
	if err != nil {
		return err
	}
	if err := a.Workspaces.ExtendWorkspace(r.Context(), a.actor(r), id, req); err != nil {
		return err
	}
	return reply(w, 200, coder.Response{Message: "The deadline is extended"})
}

func (a *API) favorite(on bool) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := pathID(r, "workspace")
		if err != nil {
			return err
		}
		if err := a.Workspaces.FavoriteWorkspace(r.Context(), a.actor(r), id, on); err != nil {
			return err
		}
		return done(w)
	}
}

func (a *API) postUsage(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspace")
	if err != nil {
		return err
	}
	var req coder.PostWorkspaceUsageRequest
	if r.ContentLength != 0 {
		if req, err = decode[coder.PostWorkspaceUsageRequest](r); err != nil {
			return err
		}
	}
	if err := a.Workspaces.PostWorkspaceUsage(r.Context(), a.actor(r), id, req); err != nil {
		return err
	}
	return done(w)
}

func (a *API) getResolveAutostart(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspace")
	if err != nil {
		return err
	}
	out, err := a.Workspaces.ResolveAutostart(r.Context(), a.actor(r), id)
	if err != nil {
		return err
	}
	return reply(w, 200, out)
}

func (a *API) getWorkspaceTimings(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspace")
	if err != nil {
		return err
	}
	out, err := a.Workspaces.WorkspaceTimings(r.Context(), a.actor(r), id)
	if err != nil {
		return err
	}
	return reply(w, 200, out)
}

func (a *API) getExternalAgent(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspace")
	if err != nil {
		return err
	}
	out, err := a.Workspaces.ExternalAgentCredentials(r.Context(), a.actor(r), id, r.PathValue("agent"))
	if err != nil {
		return err
	}
	return reply(w, 200, out)
}
