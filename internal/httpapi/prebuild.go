package httpapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
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
		{Method: "POST", Path: "/templates/{template}/prebuilds/invalidate", Summary: "Replace a template's prebuilt workspaces",
			About:  "Claimed workspaces are not affected.",
			Action: codersdk.RBACActionUpdate, Resource: codersdk.RBACResourceTemplate, Out: codersdk.InvalidatePresetsResponse{},
			Handler: a.postInvalidatePrebuilds},
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

func (a *API) postInvalidatePrebuilds(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "template")
	if err != nil {
		return err
	}
	out, err := a.Prebuilds.Invalidate(r.Context(), rest.Actor(r), id)
	if err != nil {
		return err
	}
	return rest.Reply(w, http.StatusOK, out)
}
