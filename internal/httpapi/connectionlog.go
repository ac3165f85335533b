package httpapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
)

// connectionRoutes are the connection log.
func (a *API) connectionRoutes() []Route {
	if a.Connections == nil {
		return nil
	}
	return []Route{
		{Method: "GET", Path: "/connectionlog", Summary: "Search the connection log", Query: paged(searched("A user name, and organization:, workspace_owner:, workspace_owner_email:, username:, user_email:, type:, status:, connected_after:, connected_before:, workspace_id:, connection_id:.")), Action: coder.RBACActionRead, Resource: coder.RBACResourceConnectionLog, Out: coder.ConnectionLogResponse{}, Handler: a.getConnectionLogs},
	}
}

func (a *API) getConnectionLogs(w http.ResponseWriter, r *http.Request) error {
	t, err := search(r.URL.Query().Get("q"))
	if err != nil {
		return err
	}
	kinds := []string{}
	for _, k := range coder.ConnectionTypes() {
		kinds = append(kinds, string(k))
	}
	f := connection.Search{
		WorkspaceID: t.id("workspace_id"), ConnectionID: t.id("connection_id"), Owner: t.text("workspace_owner"), OwnerEmail: t.text("workspace_owner_email"),
		Username: t.text("username"), Email: t.text("user_email"), Type: coder.ConnectionType(t.oneOf("type", kinds...)),
		Status: t.oneOf("status", "ongoing", "completed"), After: t.time("connected_after"), Before: t.time("connected_before"),
	}
	organization := t.text("organization")
	if words := t.word(); words != "" && f.Owner == "" {
		f.Owner = words
	}
	if err := t.done(); err != nil {
		return err
	}
	if organization != "" {
		o, err := a.Identity.OrganizationByRef(r.Context(), a.actor(r), organization)
		if err != nil {
			return err
		}
		f.OrganizationID = o.ID
	}
	if f.Limit, f.Offset, err = page(r); err != nil {
		return err
	}
	out, err := a.Connections.Logs(r.Context(), a.actor(r), f)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}
