package httpapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder"
)

// sharingRoutes are with whom workspaces are shared.
func (a *API) sharingRoutes() []Route {
	const workspace, share = coder.RBACResourceWorkspace, coder.RBACActionShare
	if a.Workspaces == nil {
		return nil
	}
	return []Route{
		{Method: "GET", Path: "/workspaces/{workspace}/acl", Summary: "With whom a workspace is shared", Action: coder.RBACActionRead, Resource: workspace, Out: coder.WorkspaceACL{}, Handler: a.getWorkspaceACL},
		{Method: "PATCH", Path: "/workspaces/{workspace}/acl", Summary: "Share a workspace", Action: share, Resource: workspace, In: coder.UpdateWorkspaceACL{}, Status: 204, Handler: a.patchWorkspaceACL},
		{Method: "DELETE", Path: "/workspaces/{workspace}/acl", Summary: "End all sharing of a workspace", Action: share, Resource: workspace, Status: 204, Handler: a.deleteWorkspaceACL},
		{Method: "GET", Path: "/workspaces/{workspace}/acl/available", Summary: "With whom a workspace may be shared", Query: paged(searched("Part of a name or address of users.")), Action: share, Resource: workspace, Out: coder.ACLAvailable{}, Handler: a.getWorkspaceACLAvailable},
	}
}

func (a *API) getWorkspaceACL(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspace")
	if err != nil {
		return err
	}
	out, err := a.Workspaces.WorkspaceACL(r.Context(), a.actor(r), id)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) getWorkspaceACLAvailable(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspace")
	if err != nil {
		return err
	}
	p, err := pageOf(r)
	if err != nil {
		return err
	}
	out, err := a.Workspaces.WorkspaceACLAvailable(r.Context(), a.actor(r), id, clip(r.URL.Query().Get("q"), maxSearch), p)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) patchWorkspaceACL(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspace")
	if err != nil {
		return err
	}
	req, err := decode[coder.UpdateWorkspaceACL](r)
	if err != nil {
		return err
	}
	if err := a.Workspaces.UpdateWorkspaceACL(r.Context(), a.actor(r), id, req); err != nil {
		return err
	}
	return done(w)
}

func (a *API) deleteWorkspaceACL(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspace")
	if err != nil {
		return err
	}
	if err := a.Workspaces.ClearWorkspaceACL(r.Context(), a.actor(r), id); err != nil {
		return err
	}
	return done(w)
}
