package httpapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder"
)

// portShareRoutes are about ports that others may open. (NET-09)
func (a *API) portShareRoutes() []Route {
	if a.Apps == nil {
		return nil
	}
	const path, res = "/workspaces/{workspace}/port-share", coder.RBACResourceWorkspace
	return []Route{
		{Method: "GET", Path: path, Summary: "List the shared ports of a workspace", Action: coder.RBACActionRead, Resource: res, Out: coder.WorkspaceAgentPortShares{}, Handler: a.getPortShares},
		{Method: "POST", Path: path, Summary: "Share a port, or change how it is shared", Action: coder.RBACActionUpdate, Resource: res, In: coder.UpsertWorkspaceAgentPortShareRequest{}, Out: coder.WorkspaceAgentPortShare{}, Handler: a.postPortShare},
		{Method: "DELETE", Path: path, Summary: "Share a port no longer", Action: coder.RBACActionUpdate, Resource: res, In: coder.DeleteWorkspaceAgentPortShareRequest{}, Handler: a.deletePortShare},
	}
}

func (a *API) getPortShares(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspace")
	if err != nil {
		return err
	}
	shares, err := a.Apps.PortShares(r.Context(), a.actor(r), id)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, shares)
}

func (a *API) postPortShare(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspace")
	if err != nil {
		return err
	}
	req, err := decode[coder.UpsertWorkspaceAgentPortShareRequest](r)
	if err != nil {
		return err
	}
	share, err := a.Apps.SharePort(r.Context(), a.actor(r), id, req)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, share)
}

func (a *API) deletePortShare(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspace")
	if err != nil {
		return err
	}
	req, err := decode[coder.DeleteWorkspaceAgentPortShareRequest](r)
	if err != nil {
		return err
	}
	if err := a.Apps.UnsharePort(r.Context(), a.actor(r), id, req); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}
