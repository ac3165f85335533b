package httpapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/search"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
)

// auditRoutes are the audit log.
func (a *API) auditRoutes() []rest.Route {
	return []rest.Route{
		{Method: "GET", Path: "/audit", Summary: "Search the audit log",
			Query: rest.Paged(rest.Searched("A username, or resource_type:, resource_id:, resource_target:, action:, username:, email:, " +
				"organization:, request_id:, build_reason:, date_from:, date_to:.")),
			Action: codersdk.RBACActionRead, Resource: codersdk.RBACResourceAuditLog, Out: codersdk.AuditLogResponse{},
			Handler: a.getAuditLogs},
	}
}

func (a *API) getAuditLogs(w http.ResponseWriter, r *http.Request) error {
	f, err := auditSearch(r)
	if err != nil {
		return err
	}
	out, err := a.Identity.AuditLogs(r.Context(), rest.Actor(r), f)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

// auditSearch reads the search terms and the page of the audit log. (AUD-01)
func auditSearch(r *http.Request) (f identity.AuditSearch, err error) {
	t, err := search.Parse(r.URL.Query().Get("q"))
	if err != nil {
		return f, err
	}
	f.ResourceType, f.ResourceID, f.ResourceTarget = t.Text("resource_type"), t.ID("resource_id"), t.Text("resource_target")
	f.Action, f.Username, f.Email, f.Organization = t.Text("action"), t.Text("username"), t.Text("email"), t.Text("organization")
	f.RequestID, f.BuildReason = t.Text("request_id"), t.Text("build_reason")
	f.DateFrom, f.DateTo = t.Time("date_from"), t.Time("date_to")
	if words := t.FreeText(); words != "" && f.Username == "" {
		f.Username = words
	}
	if f.DateTo != nil && f.DateTo.Truncate(day).Equal(*f.DateTo) {
		end := f.DateTo.Add(day) // a date includes the whole day
		f.DateTo = &end
	}
	if err := t.Finish(); err != nil {
		return f, err
	}
	f.Limit, f.Offset, err = rest.Page(r)
	return f, err
}
