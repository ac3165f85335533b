package httpapi

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/insight"
)

// insightRoutes say who uses what and how much. (TPL-18)
func (a *API) insightRoutes() []Route {
	if a.Insights == nil {
		return nil
	}
	const view, tpl = coder.RBACActionViewInsights, coder.RBACResourceTemplate
	return []Route{
		{Method: "GET", Path: "/insights/daus", Summary: "People who worked, by the day", Action: view, Resource: tpl, Out: coder.DAUsResponse{}, Handler: a.getDAUs},
		{Method: "GET", Path: "/insights/templates", Summary: "How templates are used", Action: view, Resource: tpl, Out: coder.TemplateInsightsResponse{}, Handler: a.getTemplateInsights},
		{Method: "GET", Path: "/insights/user-activity", Summary: "How long people worked", Action: view, Resource: tpl, Out: coder.UserActivityInsightsResponse{}, Handler: overSpan(a, a.Insights.UserActivity)},
		{Method: "GET", Path: "/insights/user-latency", Summary: "How far people are from their workspaces", Action: view, Resource: tpl, Out: coder.UserLatencyInsightsResponse{}, Handler: overSpan(a, a.Insights.UserLatency)},
		{Method: "GET", Path: "/insights/user-status-counts", Summary: "How many users of each status there were", Action: coder.RBACActionRead, Resource: coder.RBACResourceUser, Out: coder.GetUserStatusCountsResponse{}, Handler: a.getUserStatusCounts},
		{Method: "GET", Path: "/templates/{template}/daus", Summary: "People who worked with a template, by the day", Action: view, Resource: tpl, Out: coder.DAUsResponse{}, Handler: a.getTemplateDAUs},
	}
}

// timezoneOffset reads the hours that days begin before those of UTC.
func timezoneOffset(r *http.Request) (int, error) {
	text := r.URL.Query().Get("tz_offset")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, coder.Invalid("tz_offset", "%q is no number of hours, such as -5", clip(text, 32))
	}
	return n, nil
}

func (a *API) daus(w http.ResponseWriter, r *http.Request, template uuid.UUID) error {
	offset, err := timezoneOffset(r)
	if err != nil {
		return err
	}
	out, err := a.Insights.DAUs(r.Context(), a.actor(r), template, offset)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (a *API) getDAUs(w http.ResponseWriter, r *http.Request) error { return a.daus(w, r, uuid.Nil) }

func (a *API) getTemplateDAUs(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "template")
	if err != nil {
		return err
	}
	return a.daus(w, r, id)
}

// insightQuery reads what all questions about a span of time have.
func insightQuery(r *http.Request) (q insight.Query, err error) {
	for name, at := range map[string]*time.Time{"start_time": &q.Start, "end_time": &q.End} {
		text := r.URL.Query().Get(name)
		if text == "" {
			continue
		}
		if *at, err = time.Parse(time.RFC3339, text); err != nil {
			return q, coder.Invalid(name, "%q is no time such as 2026-11-01T00:00:00Z", clip(text, 64))
		}
	}
	for _, list := range r.URL.Query()["template_ids"] {
		for text := range strings.SplitSeq(list, ",") {
			if text == "" {
				continue
			}
			id, err := uuid.Parse(text)
			if err != nil {
				return q, coder.Invalid("template_ids", "%q is not a UUID", clip(text, 64))
			}
			q.Templates = append(q.Templates, id)
		}
	}
	q.Limit, q.Offset, err = page(r)
	return q, err
}

func (a *API) getTemplateInsights(w http.ResponseWriter, r *http.Request) error {
	interval := coder.InsightsReportInterval(r.URL.Query().Get("interval"))
	return overSpan(a, func(ctx context.Context, actor access.Subject, q insight.Query) (coder.TemplateInsightsResponse, error) {
		return a.Insights.Templates(ctx, actor, q, interval)
	})(w, r)
}

// overSpan answers what a use case tells of the span of time that is asked for.
func overSpan[T any](a *API, ask func(context.Context, access.Subject, insight.Query) (T, error)) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		q, err := insightQuery(r)
		if err != nil {
			return err
		}
		out, err := ask(r.Context(), a.actor(r), q)
		if err != nil {
			return err
		}
		return reply(w, http.StatusOK, out)
	}
}

func (a *API) getUserStatusCounts(w http.ResponseWriter, r *http.Request) error {
	offset, err := timezoneOffset(r)
	if err != nil {
		return err
	}
	out, err := a.Insights.UserStatusCounts(r.Context(), a.actor(r), offset)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}
