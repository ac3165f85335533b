package agentapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// reinit serves GET /workspaceagents/me/reinit as server-sent events. The event
// with data notifies the agent of a prebuilt workspace that a user claimed it;
// then the stream ends. An agent of any other workspace receives it at once.
// (WS-20)
func (a *API) reinit(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.agent(r)
	if err != nil {
		return err
	}
	ctx, done, ok := a.open.add(r.Context(), uuid.New())
	if !ok {
		return codersdk.Errorf(codersdk.CodeUnavailable, "The server is stopping; connect again in a moment")
	}
	defer done()
	out := http.NewResponseController(w)
	begun := false
	say := func(event, data string) error {
		if !begun {
			begun = true
			h := w.Header()
			h.Set("Content-Type", "text/event-stream")
			h.Set("Cache-Control", "no-cache")
			h.Set("X-Accel-Buffering", "no")
			w.WriteHeader(http.StatusOK)
		}
		if _, err := fmt.Fprintf(w, "event: %s\n%s\n", event, data); err != nil {
			return err
		}
		return out.Flush()
	}
	err = a.c.Presence.AwaitClaim(ctx, agent, func() error { return say(string(codersdk.ServerSentEventTypePing), "") })
	if err != nil {
		if begun { // the response has started; all that is left is to end it
			return nil
		}
		return err
	}
	b, err := json.Marshal(codersdk.ReinitializationEvent{Reason: codersdk.ReinitializationReasonPrebuildClaimed, WorkspaceID: agent.WorkspaceID})
	if err != nil {
		return err
	}
	if err := say(string(codersdk.ServerSentEventTypeData), "data: "+string(b)+"\n"); err != nil {
		a.c.Log.DebugContext(ctx, "agent disconnected before it was notified of a claim", "agent_id", agent.ID, "error", err)
	}
	return nil
}
