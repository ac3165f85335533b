package httpapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// sharingRoutes share workspaces with users and groups.
func (a *API) sharingRoutes() []rest.Route {
	const workspace, share = codersdk.RBACResourceWorkspace, codersdk.RBACActionShare
	if a.Workspaces == nil {
		return nil
	}
	return []rest.Route{
		{Method: "GET", Path: "/workspaces/{workspace}/acl", Summary: "Get a workspace's access list",
			Action: codersdk.RBACActionRead, Resource: workspace, Out: codersdk.WorkspaceACL{}, Handler: a.getWorkspaceACL},
		{Method: "PATCH", Path: "/workspaces/{workspace}/acl", Summary: "Share a workspace",
			Action: share, Resource: workspace, In: codersdk.UpdateWorkspaceACL{}, Status: 204, Handler: a.patchWorkspaceACL},
		{Method: "DELETE", Path: "/workspaces/{workspace}/acl", Summary: "Stop sharing a workspace",
			Action: share, Resource: workspace, Status: 204, Handler: a.deleteWorkspaceACL},
		{Method: "GET", Path: "/workspaces/{workspace}/acl/available",
			Summary: "List the users and groups that a workspace may be shared with",
			Query:   rest.Paged(rest.Searched("Part of a username or email.")),
			Action:  share, Resource: workspace, Out: codersdk.ACLAvailable{}, Handler: a.getWorkspaceACLAvailable},
	}
}

func (a *API) getWorkspaceACL(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspace")
	if err != nil {
		return err
	}
	out, err := a.Workspaces.WorkspaceACL(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getWorkspaceACLAvailable(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspace")
	if err != nil {
		return err
	}
	p, err := rest.PageOf(r)
	if err != nil {
		return err
	}
	out, err := a.Workspaces.WorkspaceACLAvailable(r.Context(), rest.Actor(r), id, rest.Truncate(r.URL.Query().Get("q"), rest.MaxSearch), p)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) patchWorkspaceACL(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspace")
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.UpdateWorkspaceACL](r)
	if err != nil {
		return err
	}
	if err := a.Workspaces.UpdateWorkspaceACL(r.Context(), rest.Actor(r), id, req); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}

func (a *API) deleteWorkspaceACL(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspace")
	if err != nil {
		return err
	}
	if err := a.Workspaces.ClearWorkspaceACL(r.Context(), rest.Actor(r), id); err != nil {
		return err
	}
	return rest.ReplyNoContent(w)
}
