package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/search"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// workspaceRoutes are workspaces.
func (a *API) workspaceRoutes() []rest.Route {
	if a.Workspaces == nil {
		return nil
	}
	const res = codersdk.RBACResourceWorkspace
	return []rest.Route{
		{Method: "GET", Path: "/workspaces", Summary: "List workspaces",
			Query: rest.Paged(rest.Searched("Part of a name, owner/name, or owner: (owner:!name for all others), name:, name_exact:, template:, "+
				"organization:, status:, has-agent:, healthy:, dormant:, outdated:, shared:, shared_with_user:, "+
				"shared_with_group:, has-ai-task:, has_external_agent:, last_used_before:, last_used_after:, id:, param:."),
				rest.Param{Name: "sort", Type: "string", About: "Order: " + strings.Join(workspace.Sorts, ", ") +
					"; descending with a leading minus sign. Without it, favorites come first, then the others by owner and name."},
				rest.Param{Name: "counts", Type: "boolean", About: "Whether to count the matches by status, template, version, dormancy and health. " +
					"The counts ignore the terms for these properties."},
				rest.Param{Name: "rights", Type: "boolean", About: "Whether to return what you can do with each workspace of the page."}),
			Action: codersdk.RBACActionRead, Resource: res, Out: codersdk.WorkspacesResponse{}, Handler: a.listWorkspaces},
		{Method: "POST", Path: "/users/{user}/workspaces", Summary: "Create a workspace",
			Action: codersdk.RBACActionCreate, Resource: res, In: codersdk.CreateWorkspaceRequest{}, Out: codersdk.Workspace{}, Status: 201,
			Handler: a.createWorkspace},
		{Method: "POST", Path: "/organizations/{organization}/members/{user}/workspaces",
			Summary: "Create a workspace in an organization",
			Action:  codersdk.RBACActionCreate, Resource: res, In: codersdk.CreateWorkspaceRequest{}, Out: codersdk.Workspace{}, Status: 201,
			Handler: a.createWorkspace},
		{Method: "GET", Path: "/users/{user}/workspace/{workspacename}", Summary: "Get a workspace by owner and name",
			Action: codersdk.RBACActionRead, Resource: res, Out: codersdk.Workspace{}, Handler: a.getWorkspaceByName},
		{Method: "GET", Path: "/workspaces/{workspace}", Summary: "Get a workspace",
			Action: codersdk.RBACActionRead, Resource: res, Out: codersdk.Workspace{}, Handler: a.getWorkspace},
		{Method: "PATCH", Path: "/workspaces/{workspace}", Summary: "Rename a workspace",
			Action: codersdk.RBACActionUpdate, Resource: res, In: codersdk.UpdateWorkspaceRequest{}, Status: 204, Handler: a.patchWorkspace},
		{Method: "PUT", Path: "/workspaces/{workspace}/autostart", Summary: "Set the autostart schedule",
			Action: codersdk.RBACActionUpdate, Resource: res, In: codersdk.UpdateWorkspaceAutostartRequest{}, Status: 204,
			Handler: a.putAutostart},
		{Method: "PUT", Path: "/workspaces/{workspace}/ttl", Summary: "Set the time until autostop",
			Action: codersdk.RBACActionUpdate, Resource: res, In: codersdk.UpdateWorkspaceTTLRequest{}, Status: 204, Handler: a.putTTL},
		{Method: "PUT", Path: "/workspaces/{workspace}/autoupdates", Summary: "Set automatic updates",
			Action: codersdk.RBACActionUpdate, Resource: res, In: codersdk.UpdateWorkspaceAutomaticUpdatesRequest{}, Status: 204,
			Handler: a.putAutoupdates},
		{Method: "PUT", Path: "/workspaces/{workspace}/dormant", Summary: "Make a workspace dormant or activate it",
			Action: codersdk.RBACActionUpdate, Resource: res, In: codersdk.UpdateWorkspaceDormancy{}, Out: codersdk.Workspace{},
			Handler: a.putDormant},
		{Method: "PUT", Path: "/workspaces/{workspace}/extend", Summary: "Extend the deadline of a running workspace",
			Action: codersdk.RBACActionUpdate, Resource: res, In: codersdk.PutExtendWorkspaceRequest{}, Out: codersdk.Response{},
			Handler: a.putExtend},
		{Method: "PUT", Path: "/workspaces/{workspace}/favorite", Summary: "Add a workspace to favorites",
			Action: codersdk.RBACActionRead, Resource: res, Status: 204, Handler: a.favorite(true)},
		{Method: "DELETE", Path: "/workspaces/{workspace}/favorite", Summary: "Remove a workspace from favorites",
			Action: codersdk.RBACActionRead, Resource: res, Status: 204, Handler: a.favorite(false)},
		{Method: "POST", Path: "/workspaces/{workspace}/usage", Summary: "Report workspace usage",
			Action: codersdk.RBACActionSSH, Resource: res, In: codersdk.PostWorkspaceUsageRequest{}, Status: 204, Handler: a.postUsage},
		{Method: "GET", Path: "/workspaces/{workspace}/activity", Summary: "Explain the automatic stop of a workspace",
			About:  "States when the workspace stops and what extends that time, or why it stopped, with the evidence of the connection log.",
			Action: codersdk.RBACActionRead, Resource: res, Out: codersdk.WorkspaceActivity{}, Handler: a.getActivity},
		{Method: "GET", Path: "/workspaces/{workspace}/resolve-autostart", Summary: "Check whether autostart lacks parameters",
			Action: codersdk.RBACActionRead, Resource: res, Out: codersdk.ResolveAutostartResponse{}, Handler: a.getResolveAutostart},
		{Method: "GET", Path: "/workspaces/{workspace}/timings", Summary: "Get the timings of the latest build",
			Action: codersdk.RBACActionRead, Resource: res, Out: codersdk.WorkspaceBuildTimings{}, Handler: a.getWorkspaceTimings},
		{Method: "GET", Path: "/workspaces/{workspace}/watch", Summary: "Watch a workspace by server-sent events",
			Action: codersdk.RBACActionRead, Resource: res, Handler: a.watchWorkspace(rest.ServeEvents)},
		{Method: "GET", Path: "/workspaces/{workspace}/watch-ws", Summary: "Watch a workspace by WebSocket",
			Action: codersdk.RBACActionRead, Resource: res, Out: codersdk.ServerSentEvent{},
			Handler: a.watchWorkspace(rest.ServeEventsWebSocket)},
		{Method: "GET", Path: "/workspaces/{workspace}/external-agent/{agent}/credentials",
			Summary: "Get the token of an external agent",
			Action:  codersdk.RBACActionUpdate, Resource: res, Out: codersdk.ExternalAgentCredentials{}, Handler: a.getExternalAgent},
	}
}

func (a *API) listWorkspaces(w http.ResponseWriter, r *http.Request) error {
	s, err := a.workspaceSearch(r)
	if err != nil {
		return err
	}
	if s.Limit, s.Offset, err = rest.Page(r); err != nil {
		return err
	}
	s.Sort, s.Descending = strings.CutPrefix(r.URL.Query().Get("sort"), "-")
	if s.Sort != "" && !slices.Contains(workspace.Sorts, s.Sort) {
		return codersdk.Invalid("sort", "%q is not one of: %s", rest.Truncate(s.Sort, 64), strings.Join(workspace.Sorts, ", "))
	}
	if s.Counts, err = rest.QueryBool(r, "counts"); err != nil {
		return err
	}
	if s.Rights, err = rest.QueryBool(r, "rights"); err != nil {
		return err
	}
	out, err := a.Workspaces.Workspaces(r.Context(), rest.Actor(r), s)
	if err != nil {
		return err
	}
	return rest.Reply(w, 200, out)
}

// workspaceSearch reads the search terms of q. A word without a key is part of
// a name, or owner/name. (WS-23)
func (a *API) workspaceSearch(r *http.Request) (workspace.Search, error) {
	t, err := search.Parse(r.URL.Query().Get("q"))
	if err != nil {
		return workspace.Search{}, err
	}
	s := workspace.Search{
		Owner: t.Text("owner"), Name: t.Text("name"), NameExact: t.Text("name_exact"), Template: t.Text("template"), Organization: t.Text("organization"),
		Status: codersdk.WorkspaceStatus(t.OneOf("status", "canceled", "canceling", "deleted", "deleting", "failed",
			"pending", "running", "starting", "stopped", "stopping", "unhealthy")),
		AgentStatus: codersdk.WorkspaceAgentStatus(t.OneOf("has-agent", "connected", "connecting", "disconnected", "timeout")),
		Healthy:     t.Boolean("healthy"), Dormant: t.Boolean("dormant"), Outdated: t.Boolean("outdated"), Shared: t.Boolean("shared"),
		HasAITask: t.Boolean("has-ai-task"), HasExternalAgent: t.Boolean("has_external_agent"),
		LastUsedBefore: t.Time("last_used_before"), LastUsedAfter: t.Time("last_used_after"),
	}
	if s.Status == "unhealthy" { // a running workspace with an unhealthy agent
		s.Status, s.Healthy = codersdk.WorkspaceStatusRunning, new(bool)
	}
	if v := t.Text("shared_with_user"); v != "" {
		if s.SharedWithUser, err = a.Identity.OwnerByRef(r.Context(), rest.Actor(r), v); codersdk.Is(err, codersdk.CodeNotFound) {
			t.AddError("shared_with_user", "Query param \"shared_with_user\" must be an existing uuid or username")
		} else if err != nil {
			return s, err
		}
	}
	s.SharedWithGroup = t.Text("shared_with_group")
	for _, v := range t.List("id") {
		id, err := uuid.Parse(v)
		if err != nil {
			t.AddError("id", "%q is not a UUID", rest.Truncate(v, 64))
		}
		s.IDs = append(s.IDs, id)
	}
	for _, v := range t.List("param") {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			t.AddError("param", "%q is not of the form name=value", rest.Truncate(v, 64))
		}
		s.Parameters = append(s.Parameters, codersdk.WorkspaceBuildParameter{Name: name, Value: value})
	}
	if owner, name, ok := strings.Cut(t.FreeText(), "/"); ok && s.Owner == "" && s.NameExact == "" {
		s.Owner, s.NameExact = owner, name
	} else if t.FreeText() != "" && s.Name != "" {
		t.AddError("name", "appears twice: with its key and as %q", rest.Truncate(t.FreeText(), 64))
	} else if t.FreeText() != "" {
		s.Name = t.FreeText()
	}
	if name, not := strings.CutPrefix(s.Owner, "!"); not {
		s.Owner = ""
		if s.NotOwnerID, err = a.Identity.OwnerByRef(r.Context(), rest.Actor(r), name); codersdk.Is(err, codersdk.CodeNotFound) {
			t.AddError("owner", "Query param \"owner\" must be an existing uuid or username")
		} else if err != nil {
			return s, err
		}
	}
	if s.Owner == "me" {
		s.Owner, s.OwnerID = "", rest.Actor(r).UserID
	}
	return s, t.Finish()
}

func (a *API) createWorkspace(w http.ResponseWriter, r *http.Request) error {
	req, err := rest.Decode[codersdk.CreateWorkspaceRequest](r)
	if err != nil {
		return err
	}
	owner, err := a.pathOwner(r)
	if err != nil {
		return err
	}
	var org codersdk.Organization
	if r.PathValue("organization") != "" {
		if org, err = a.pathOrganization(r); err != nil {
			return err
		}
	}
	made, err := a.Workspaces.CreateWorkspace(r.Context(), rest.Actor(r), org.ID, owner, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusCreated, made)
}

func (a *API) getWorkspace(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspace")
	if err != nil {
		return err
	}
	deleted, err := rest.QueryBool(r, "include_deleted")
	if err != nil {
		return err
	}
	out, err := a.Workspaces.Workspace(r.Context(), rest.Actor(r), id, deleted)
	if err != nil {
		return err
	}
	return rest.Reply(w, 200, out)
}

func (a *API) getWorkspaceByName(w http.ResponseWriter, r *http.Request) error {
	owner, err := a.pathOwner(r)
	if err != nil {
		return err
	}
	deleted, err := rest.QueryBool(r, "include_deleted")
	if err != nil {
		return err
	}
	out, err := a.Workspaces.WorkspaceByOwnerAndName(r.Context(), rest.Actor(r), owner, r.PathValue("workspacename"), deleted)
	if err != nil {
		return err
	}
	return rest.Reply(w, 200, out)
}

// setting reads the workspace id and the request body of a settings route.
func setting[T any](r *http.Request) (id uuid.UUID, req T, err error) {
	if id, err = rest.PathID(r, "workspace"); err != nil {
		return id, req, err
	}
	req, err = rest.Decode[T](r)
	return id, req, err
}

func (a *API) patchWorkspace(w http.ResponseWriter, r *http.Request) error {
	id, req, err := setting[codersdk.UpdateWorkspaceRequest](r)
	if err != nil {
		return err
	}
	if err := a.Workspaces.UpdateWorkspace(r.Context(), rest.Actor(r), id, req); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) putAutostart(w http.ResponseWriter, r *http.Request) error {
	id, req, err := setting[codersdk.UpdateWorkspaceAutostartRequest](r)
	if err != nil {
		return err
	}
	if err := a.Workspaces.UpdateWorkspaceAutostart(r.Context(), rest.Actor(r), id, req); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) putTTL(w http.ResponseWriter, r *http.Request) error {
	id, req, err := setting[codersdk.UpdateWorkspaceTTLRequest](r)
	if err != nil {
		return err
	}
	if err := a.Workspaces.UpdateWorkspaceTTL(r.Context(), rest.Actor(r), id, req); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) putAutoupdates(w http.ResponseWriter, r *http.Request) error {
	id, req, err := setting[codersdk.UpdateWorkspaceAutomaticUpdatesRequest](r)
	if err != nil {
		return err
	}
	if err := a.Workspaces.UpdateWorkspaceAutomaticUpdates(r.Context(), rest.Actor(r), id, req); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) putDormant(w http.ResponseWriter, r *http.Request) error {
	id, req, err := setting[codersdk.UpdateWorkspaceDormancy](r)
	if err != nil {
		return err
	}
	out, err := a.Workspaces.UpdateWorkspaceDormancy(r.Context(), rest.Actor(r), id, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, 200, out)
}

func (a *API) putExtend(w http.ResponseWriter, r *http.Request) error {
	id, req, err := setting[codersdk.PutExtendWorkspaceRequest](r)
	if err != nil {
		return err
	}
	if err := a.Workspaces.ExtendWorkspace(r.Context(), rest.Actor(r), id, req); err != nil {
		return err
	}
	return rest.Reply(w, 200, codersdk.Response{Message: "The deadline is extended"})
}

func (a *API) favorite(on bool) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := rest.PathID(r, "workspace")
		if err != nil {
			return err
		}
		if err := a.Workspaces.FavoriteWorkspace(r.Context(), rest.Actor(r), id, on); err != nil {
			return err
		}
		return rest.ReplyNoContent(w)
	}
}

func (a *API) postUsage(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspace")
	if err != nil {
		return err
	}
	var req codersdk.PostWorkspaceUsageRequest
	if r.ContentLength != 0 {
		if req, err = rest.Decode[codersdk.PostWorkspaceUsageRequest](r); err != nil {
			return err
		}
	}
	if err := a.Workspaces.PostWorkspaceUsage(r.Context(), rest.Actor(r), id, req); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) getResolveAutostart(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspace")
	if err != nil {
		return err
	}
	out, err := a.Workspaces.ResolveAutostart(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	return rest.Reply(w, 200, out)
}

func (a *API) getWorkspaceTimings(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspace")
	if err != nil {
		return err
	}
	out, err := a.Workspaces.WorkspaceTimings(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	return rest.Reply(w, 200, out)
}

func (a *API) getExternalAgent(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspace")
	if err != nil {
		return err
	}
	out, err := a.Workspaces.ExternalAgentCredentials(r.Context(), rest.Actor(r), id, r.PathValue("agent"))
	if err != nil {
		return err
	}
	return rest.Reply(w, 200, out)
}
