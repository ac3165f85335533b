// Package insightapi serves the usage and the costs of workspaces by day, organization, template and
// user, and the versions in use.
package insightapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/insight/breakdown"
)

// api serves the endpoints. It is safe for concurrent use.
type api struct{ reports *breakdown.Service }

// Routes returns the routes.
func Routes(reports *breakdown.Service) []rest.Route {
	const view, tpl = codersdk.RBACActionViewInsights, codersdk.RBACResourceTemplate
	a := api{reports}
	organization := rest.Param{Name: "organization", Type: "string", About: "ID of an organization; default: all."}
	template := rest.Param{Name: "template", Type: "string", About: "ID of a template; default: all."}
	return []rest.Route{
		{Method: "GET", Path: "/insights/breakdown", Summary: "Get usage and costs by day, organization, template and user",
			About: "A period is at most 92 days.",
			Query: []rest.Param{
				{Name: "start_date", Type: "string", About: "First day, such as 2026-11-01."},
				{Name: "end_date", Type: "string", About: "Last day."},
				{Name: "timezone", Type: "string", About: "Time zone of the days, such as Europe/Berlin; default UTC."},
				organization, template,
				{Name: "user", Type: "string", About: "ID of a user; default: all."},
			}, Action: view, Resource: tpl, Out: codersdk.InsightsBreakdown{}, Handler: a.getBreakdown},
		{Method: "GET", Path: "/insights/versions", Summary: "List the versions in use of templates, agents and clients",
			Query: []rest.Param{organization, template}, Action: view, Resource: tpl, Out: codersdk.InsightsVersions{}, Handler: a.getVersions},
	}
}

// scopeOf reads the scope that both routes share.
func scopeOf(r *http.Request) (s breakdown.Scope, err error) {
	if s.Organization, err = rest.QueryID(r, "organization"); err != nil {
		return s, err
	}
	s.Template, err = rest.QueryID(r, "template")
	return s, err
}

func (a api) getBreakdown(w http.ResponseWriter, r *http.Request) error {
	scope, err := scopeOf(r)
	if err != nil {
		return err
	}
	if scope.User, err = rest.QueryID(r, "user"); err != nil {
		return err
	}
	v := r.URL.Query()
	out, err := a.reports.Usage(r.Context(), rest.Actor(r), breakdown.Query{
		Scope: scope, StartDate: v.Get("start_date"), EndDate: v.Get("end_date"), Timezone: v.Get("timezone"),
	})
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a api) getVersions(w http.ResponseWriter, r *http.Request) error {
	scope, err := scopeOf(r)
	if err != nil {
		return err
	}
	out, err := a.reports.Versions(r.Context(), rest.Actor(r), scope)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}
