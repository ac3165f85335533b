// Package planaheadapi serves whether the next start of a workspace is planned.
package planaheadapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/planahead"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// API holds the dependencies of the endpoints.
type API struct {
	Plans      *planahead.Service
	Workspaces *workspace.Service // finds the workspaces that the user can read
}

// Routes returns the endpoints.
func (a *API) Routes() []rest.Route {
	return []rest.Route{
		{Method: "GET", Path: "/workspaces/{workspace}/plan-ahead", Summary: "Get whether the next start of a workspace is planned",
			Action: codersdk.RBACActionRead, Resource: codersdk.RBACResourceWorkspace, Out: codersdk.WorkspacePlanAhead{}, Handler: a.get},
	}
}

func (a *API) get(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspace")
	if err != nil {
		return err
	}
	workspace, err := a.Workspaces.Workspace(r.Context(), rest.Actor(r), id, false)
	if err != nil {
		return err
	}
	out, err := a.Plans.Read(r.Context(), workspace)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}
