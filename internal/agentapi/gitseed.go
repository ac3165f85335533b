package agentapi

import (
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// gitSeed serves POST /workspaceagents/me/git-seed: a git repository from the mirror, or the status 202 if the mirror
// has no current copy yet.
func (a *API) gitSeed(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.agent(r)
	if err != nil {
		return err
	}
	req, err := decode[struct {
		URL    string `json:"url"`
		Create bool   `json:"create"`
	}](w, r)
	if err != nil {
		return err
	}
	seed, err := a.c.GitSeed(r.Context(), agent.OwnerID, agent.BuildID, req.URL, req.Create)
	if err != nil {
		return err
	}
	if seed == nil {
		return reply(w, http.StatusAccepted, codersdk.Response{Message: "The mirror has no current copy of the repository yet"})
	}
	defer seed.Close()
	w.Header().Set("Content-Type", "application/x-tar")
	w.Header().Set("Cache-Control", "no-store")
	if _, err := seed.WriteTo(w); err != nil { // the agent notices that files are missing
		a.c.Log.Info("a git repository was not sent whole to an agent", "agent", agent.ID, "error", err)
	}
	return nil
}
