package httpapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder"
)

// prebuildRoutes are about workspaces that are kept ready. (WS-20)
func (a *API) prebuildRoutes() []Route {
	if a.Prebuilds == nil {
		return nil
	}
	const config = coder.RBACResourceDeploymentConfig
	return []Route{
		{Method: "GET", Path: "/prebuilds/settings", Summary: "Whether prebuilt workspaces are looked after", Action: coder.RBACActionRead, Resource: config, Out: coder.PrebuildsSettings{}, Handler: answer(a, a.Prebuilds.Settings)},
		{Method: "PUT", Path: "/prebuilds/settings", Summary: "Pause that, or go on with it", About: "The answer is 304 when nothing is different.", Action: coder.RBACActionUpdate, Resource: config, In: coder.PrebuildsSettings{}, Out: coder.PrebuildsSettings{}, Handler: a.putPrebuildsSettings},
		{Method: "POST", Path: "/templates/{template}/prebuilds/invalidate", Summary: "Have a template's prebuilt workspaces made anew", About: "Those that people took stay as they are.", Action: coder.RBACActionUpdate, Resource: coder.RBACResourceTemplate, Out: coder.InvalidatePresetsResponse{}, Handler: a.postInvalidatePrebuilds},
	}
}

func (a *API) putPrebuildsSettings(w http.ResponseWriter, r *http.Request) error {
	in, err := decode[coder.PrebuildsSettings](r)
	if err != nil {
		return err
	}
	changed, err := a.Prebuilds.SetSettings(r.Context(), a.actor(r), in)
	if err != nil {
		return err
	}
	if !changed {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return reply(w, http.StatusOK, in)
}

func (a *API) postInvalidatePrebuilds(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "template")
	if err != nil {
		return err
	}
	out, err := a.Prebuilds.Invalidate(r.Context(), a.actor(r), id)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}
