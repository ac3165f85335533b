package httpapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/search"
)

// connectionRoutes are the connection log.
func (a *API) connectionRoutes() []rest.Route {
	if a.Connections == nil {
		return nil
	}
	return []rest.Route{
		{Method: "GET", Path: "/connectionlog", Summary: "Search the connection log",
			Query: rest.Paged(rest.Searched("A username, or organization:, workspace_owner:, workspace_owner_email:, username:, " +
				"user_email:, type:, status:, connected_after:, connected_before:, workspace_id:, connection_id:.")),
			Action: codersdk.RBACActionRead, Resource: codersdk.RBACResourceConnectionLog, Out: codersdk.ConnectionLogResponse{},
			Handler: a.getConnectionLogs},
	}
}

func (a *API) getConnectionLogs(w http.ResponseWriter, r *http.Request) error {
	t, err := search.Parse(r.URL.Query().Get("q"))
	if err != nil {
		return err
	}
	kinds := []string{}
	for _, k := range codersdk.ConnectionTypes() {
		kinds = append(kinds, string(k))
	}
	f := connection.Search{
		WorkspaceID: t.ID("workspace_id"), ConnectionID: t.ID("connection_id"), Owner: t.Text("workspace_owner"), OwnerEmail: t.Text("workspace_owner_email"),
		Username: t.Text("username"), Email: t.Text("user_email"), Type: codersdk.ConnectionType(t.OneOf("type", kinds...)),
		Status: t.OneOf("status", "ongoing", "completed"), After: t.Time("connected_after"), Before: t.Time("connected_before"),
	}
	organization := t.Text("organization")
	if words := t.FreeText(); words != "" && f.Owner == "" {
		f.Owner = words
	}
	if err := t.Finish(); err != nil {
		return err
	}
	if organization != "" {
		o, err := a.Identity.OrganizationByRef(r.Context(), rest.Actor(r), organization)
		if err != nil {
			return err
		}
		f.OrganizationID = o.ID
	}
	if f.Limit, f.Offset, err = rest.Page(r); err != nil {
		return err
	}
	out, err := a.Connections.Logs(r.Context(), rest.Actor(r), f)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}
