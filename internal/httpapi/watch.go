package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// watchWorkspace streams a workspace over one of the two transports. (WS-24)
func (a *API) watchWorkspace(serve func(http.ResponseWriter, *http.Request, rest.Watcher) error) rest.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := rest.PathID(r, "workspace")
		if err != nil {
			return err
		}
		actor := rest.Actor(r)
		if err := a.Workspaces.CheckRead(r.Context(), actor, id); err != nil {
			return err
		}
		return serve(w, r, func(ctx context.Context, each func(json.RawMessage) error) error {
			return a.Workspaces.Watch(ctx, actor, id, each)
		})
	}
}
