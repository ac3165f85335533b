package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/insight"
)

// insightRoutes report the usage of templates and workspaces. (TPL-18)
func (a *API) insightRoutes() []rest.Route {
	if a.Insights == nil {
		return nil
	}
	const view, tpl = codersdk.RBACActionViewInsights, codersdk.RBACResourceTemplate
	return []rest.Route{
		{Method: "GET", Path: "/insights/daus", Summary: "Get daily active users",
			Action: view, Resource: tpl, Out: codersdk.DAUsResponse{}, Handler: a.getDAUs},
		{Method: "GET", Path: "/insights/templates", Summary: "Get template usage",
			Action: view, Resource: tpl, Out: codersdk.TemplateInsightsResponse{}, Handler: a.getTemplateInsights},
		{Method: "GET", Path: "/insights/user-activity", Summary: "Get user activity",
			Action: view, Resource: tpl, Out: codersdk.UserActivityInsightsResponse{}, Handler: overSpan(a, a.Insights.UserActivity)},
		{Method: "GET", Path: "/insights/user-latency", Summary: "Get user latency",
			Action: view, Resource: tpl, Out: codersdk.UserLatencyInsightsResponse{}, Handler: overSpan(a, a.Insights.UserLatency)},
		{Method: "GET", Path: "/insights/user-status-counts", Summary: "Get the number of users by status",
			Action: codersdk.RBACActionRead, Resource: codersdk.RBACResourceUser, Out: codersdk.GetUserStatusCountsResponse{},
			Handler: a.getUserStatusCounts},
		{Method: "GET", Path: "/templates/{template}/daus", Summary: "Get daily active users of a template",
			Action: view, Resource: tpl, Out: codersdk.DAUsResponse{}, Handler: a.getTemplateDAUs},
	}
}

// timezoneOffset reads tz_offset, the offset of the user's days from UTC in
// hours.
func timezoneOffset(r *http.Request) (int, error) {
	text := r.URL.Query().Get("tz_offset")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, codersdk.Invalid("tz_offset", "%q is not a number of hours such as -5", rest.Truncate(text, 32))
	}
	return n, nil
}

func (a *API) daus(w http.ResponseWriter, r *http.Request, template uuid.UUID) error {
	offset, err := timezoneOffset(r)
	if err != nil {
		return err
	}
	out, err := a.Insights.DAUs(r.Context(), rest.Actor(r), template, offset)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

func (a *API) getDAUs(w http.ResponseWriter, r *http.Request) error { return a.daus(w, r, uuid.Nil) }

func (a *API) getTemplateDAUs(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "template")
	if err != nil {
		return err
	}
	return a.daus(w, r, id)
}

// insightQuery reads the time span, templates and page that all insight routes
// share.
func insightQuery(r *http.Request) (q insight.Query, err error) {
	for name, at := range map[string]*time.Time{"start_time": &q.Start, "end_time": &q.End} {
		text := r.URL.Query().Get(name)
		if text == "" {
			continue
		}
		if *at, err = time.Parse(time.RFC3339, text); err != nil {
			return q, codersdk.Invalid(name, "%q is not an RFC 3339 time such as 2026-11-01T00:00:00Z", rest.Truncate(text, 64))
		}
	}
	for _, list := range r.URL.Query()["template_ids"] {
		for text := range strings.SplitSeq(list, ",") {
			if text == "" {
				continue
			}
			id, err := uuid.Parse(text)
			if err != nil {
				return q, codersdk.Invalid("template_ids", "%q is not a UUID", rest.Truncate(text, 64))
			}
			q.Templates = append(q.Templates, id)
		}
	}
	q.Limit, q.Offset, err = rest.Page(r)
	return q, err
}

func (a *API) getTemplateInsights(w http.ResponseWriter, r *http.Request) error {
	interval := codersdk.InsightsReportInterval(r.URL.Query().Get("interval"))
	return overSpan(a, func(ctx context.Context, actor access.Subject, q insight.Query) (codersdk.TemplateInsightsResponse, error) {
		return a.Insights.Templates(ctx, actor, q, interval)
	})(w, r)
}

// overSpan returns a handler that replies with the result of a use case for the
// requested time span.
func overSpan[T any](a *API, ask func(context.Context, access.Subject, insight.Query) (T, error)) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		q, err := insightQuery(r)
		if err != nil {
			return err
		}
		out, err := ask(r.Context(), rest.Actor(r), q)
		if err != nil {
			return err
		}
		return rest.Reply(w, http.StatusOK, out)
	}
}

func (a *API) getUserStatusCounts(w http.ResponseWriter, r *http.Request) error {
	offset, err := timezoneOffset(r)
	if err != nil {
		return err
	}
	out, err := a.Insights.UserStatusCounts(r.Context(), rest.Actor(r), offset)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}

// getActivity explains the automatic stop of a workspace.
func (a *API) getActivity(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspace")
	if err != nil {
		return err
	}
	workspace, err := a.Workspaces.Workspace(r.Context(), rest.Actor(r), id, false)
	if err != nil {
		return err
	}
	out, err := a.Insights.Activity(r.Context(), workspace)
	if err != nil {
		return err
	}
	return rest.Reply(w, 200, out)
}
