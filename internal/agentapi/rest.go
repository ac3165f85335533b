package agentapi

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

// patchLogs serves PATCH /workspaceagents/me/logs. (AG-09)
func (a *API) patchLogs(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.logAgent(r)
	if err != nil {
		return err
	}
	req, err := decode[struct {
		LogSourceID uuid.UUID `json:"log_source_id"`
		Logs        []struct {
			CreatedAt time.Time         `json:"created_at"`
			Level     codersdk.LogLevel `json:"level"`
			Output    string            `json:"output"`
		} `json:"logs"`
	}](w, r)
	if err != nil {
		return err
	}
	if len(req.Logs) == 0 {
		return codersdk.Invalid("logs", "must contain at least one line")
	}
	lines := make([]presence.LogLine, len(req.Logs))
	for i, l := range req.Logs {
		lines[i] = presence.LogLine(l)
	}
	if req.LogSourceID == uuid.Nil {
		req.LogSourceID = presence.ExternalLogSource()
		if _, err := a.c.Presence.PutLogSource(r.Context(), agent, req.LogSourceID, "External", ""); err != nil {
			return err
		}
	}
	overflowed, err := a.c.Presence.AppendLogs(r.Context(), agent, presence.LogBatch{Source: req.LogSourceID, Lines: lines})
	if err != nil {
		return err
	}
	if overflowed {
		return codersdk.Errorf(codersdk.CodeTooLarge, "The log of this agent is full: at most %d bytes are stored", presence.LogLimit)
	}
	return reply(w, http.StatusOK, codersdk.Response{Message: "The log lines are stored"})
}

// postLogSource serves POST /workspaceagents/me/log-source.
func (a *API) postLogSource(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.logAgent(r)
	if err != nil {
		return err
	}
	req, err := decode[struct {
		ID          uuid.UUID `json:"id"`
		DisplayName string    `json:"display_name"`
		Icon        string    `json:"icon"`
	}](w, r)
	if err != nil {
		return err
	}
	src, err := a.c.Presence.PutLogSource(r.Context(), agent, req.ID, req.DisplayName, req.Icon)
	if err != nil {
		return err
	}
	return reply(w, http.StatusCreated, src)
}

// gitSSHKey serves GET /workspaceagents/me/gitsshkey.
func (a *API) gitSSHKey(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.agent(r)
	if err != nil {
		return err
	}
	public, private, err := a.c.Presence.GitSSHKey(r.Context(), agent)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, map[string]string{"public_key": public, "private_key": private})
}
