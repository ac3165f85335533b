package agentapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// patchAppStatus serves PATCH /workspaceagents/me/app-status. (AG-27)
func (a *API) patchAppStatus(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.agent(r)
	if err != nil {
		return err
	}
	req, err := decode[codersdk.PatchAppStatus](w, r)
	if err != nil {
		return err
	}
	if err := a.c.Apps.SetStatus(r.Context(), agent.ID, agent.WorkspaceID, req); err != nil {
		return err
	}
	return reply(w, http.StatusOK, codersdk.Response{Message: "The app status is stored"})
}
