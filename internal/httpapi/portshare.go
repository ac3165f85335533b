package httpapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// portShareRoutes share ports of workspaces with other users. (NET-09)
func (a *API) portShareRoutes() []rest.Route {
	if a.Apps == nil {
		return nil
	}
	const path, res = "/workspaces/{workspace}/port-share", codersdk.RBACResourceWorkspace
	return []rest.Route{
		{Method: "GET", Path: path, Summary: "List the shared ports of a workspace",
			Action: codersdk.RBACActionRead, Resource: res, Out: codersdk.WorkspaceAgentPortShares{}, Handler: a.getPortShares},
		{Method: "POST", Path: path, Summary: "Share a port or change its sharing level",
			Action: codersdk.RBACActionUpdate, Resource: res, In: codersdk.UpsertWorkspaceAgentPortShareRequest{},
			Out: codersdk.WorkspaceAgentPortShare{}, Handler: a.postPortShare},
		{Method: "DELETE", Path: path, Summary: "Stop sharing a port",
			Action: codersdk.RBACActionUpdate, Resource: res, In: codersdk.DeleteWorkspaceAgentPortShareRequest{},
			Handler: a.deletePortShare},
	}
}

func (a *API) getPortShares(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspace")
	if err != nil {
		return err
	}
	shares, err := a.Apps.PortShares(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, shares)
}

func (a *API) postPortShare(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspace")
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.UpsertWorkspaceAgentPortShareRequest](r)
	if err != nil {
		return err
	}
	share, err := a.Apps.SharePort(r.Context(), rest.Actor(r), id, req)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, share)
}

func (a *API) deletePortShare(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspace")
	if err != nil {
		return err
	}
	req, err := rest.Decode[codersdk.DeleteWorkspaceAgentPortShareRequest](r)
	if err != nil {
		return err
	}
	if err := a.Apps.UnsharePort(r.Context(), rest.Actor(r), id, req); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}
