package agentapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder"
)

// patchAppStatus answers PATCH /workspaceagents/me/app-status. (AG-27)
func (a *API) patchAppStatus(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.agent(r)
	if err != nil {
		return err
	}
	req, err := decode[coder.PatchAppStatus](w, r)
	if err != nil {
		return err
	}
	if err := a.c.Apps.SetStatus(r.Context(), agent.ID, agent.WorkspaceID, req); err != nil {
		return err
	}
	return reply(w, http.StatusOK, coder.Response{Message: "The status of the app is kept"})
}
