package httpapi

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/prebuild"
)

// prebuildRoutes manage prebuilt workspaces. (WS-20)
func (a *API) prebuildRoutes() []rest.Route {
	if a.Prebuilds == nil {
		return nil
	}
	const config = codersdk.RBACResourceDeploymentConfig
	return []rest.Route{
		{Method: "GET", Path: "/prebuilds/settings", Summary: "Get the prebuild settings",
			Action: codersdk.RBACActionRead, Resource: config, Out: codersdk.PrebuildsSettings{},
			Handler: rest.ServeResult(a.Prebuilds.Settings)},
		{Method: "PUT", Path: "/prebuilds/settings", Summary: "Pause or resume prebuilds",
			About:  "Replies 304 when nothing changes.",
			Action: codersdk.RBACActionUpdate, Resource: config, In: codersdk.PrebuildsSettings{}, Out: codersdk.PrebuildsSettings{},
			Handler: a.putPrebuildsSettings},
		{Method: "GET", Path: "/templates/{template}/prebuilds", Summary: "Get the state of a template's prebuilt workspaces",
			Action: codersdk.RBACActionRead, Resource: codersdk.RBACResourceTemplate, Out: prebuild.TemplatePrebuilds{},
			Handler: ofTemplate(a.Prebuilds.Status)},
		{Method: "POST", Path: "/templates/{template}/prebuilds/invalidate", Summary: "Replace a template's prebuilt workspaces",
			About:  "Claimed workspaces are not affected.",
			Action: codersdk.RBACActionUpdate, Resource: codersdk.RBACResourceTemplate, Out: codersdk.InvalidatePresetsResponse{},
			Handler: ofTemplate(a.Prebuilds.Invalidate)},
	}
}

func (a *API) putPrebuildsSettings(w http.ResponseWriter, r *http.Request) error {
	in, err := rest.Decode[codersdk.PrebuildsSettings](r)
	if err != nil {
		return err
	}
	changed, err := a.Prebuilds.SetSettings(r.Context(), rest.Actor(r), in)
	if err != nil {
		return err
	}
	if !changed {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return rest.Reply(w, http.StatusOK, in)
}

// ofTemplate serves the result of a use case for the template of the path.
func ofTemplate[T any](do func(context.Context, access.Subject, uuid.UUID) (T, error)) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := rest.PathID(r, "template")
		if err != nil {
			return err
		}
		out, err := do(r.Context(), rest.Actor(r), id)
		if err != nil {
			return err
		}
		return rest.Reply(w, http.StatusOK, out)
	}
}
