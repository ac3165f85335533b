package httpapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/identity"
)

// auditRoutes are the audit log.
func (a *API) auditRoutes() []Route {
	return []Route{
		{Method: "GET", Path: "/audit", Summary: "Search the audit log", Query: paged(searched("A user name, and resource_type:, resource_id:, resource_target:, action:, username:, email:, organization:, request_id:, build_reason:, date_from:, date_to:.")), Action: coder.RBACActionRead, Resource: coder.RBACResourceAuditLog, Out: coder.AuditLogResponse{}, Handler: a.getAuditLogs},
	}
}

func (a *API) getAuditLogs(w http.ResponseWriter, r *http.Request) error {
	f, err := auditSearch(r)
	if err != nil {
		return err
	}
	out, err := a.Identity.AuditLogs(r.Context(), a.actor(r), f)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

// auditSearch reads the search and page of the audit log. (AUD-01)
func auditSearch(r *http.Request) (f identity.AuditSearch, err error) {
	t, err := search(r.URL.Query().Get("q"))
	if err != nil {
		return f, err
	}
	f.ResourceType, f.ResourceID, f.ResourceTarget = t.text("resource_type"), t.id("resource_id"), t.text("resource_target")
	f.Action, f.Username, f.Email, f.Organization = t.text("action"), t.text("username"), t.text("email"), t.text("organization")
	f.RequestID, f.BuildReason = t.text("request_id"), t.text("build_reason")
	f.DateFrom, f.DateTo = t.time("date_from"), t.time("date_to")
	if words := t.word(); words != "" && f.Username == "" {
		f.Username = words
	}
	if f.DateTo != nil && f.DateTo.Truncate(day).Equal(*f.DateTo) {
		end := f.DateTo.Add(day) // a day is meant to its end
		f.DateTo = &end
	}
	if err := t.done(); err != nil {
		return f, err
	}
	f.Limit, f.Offset, err = page(r)
	return f, err
}
