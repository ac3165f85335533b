package agentapi

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// reinit answers GET /workspaceagents/me/reinit: server-sent events, of which
// the one with data tells an agent whose workspace was built ahead that
// somebody has claimed it, and the stream ends. An agent whose workspace was
// not is told so at once. (WS-20)
func (a *API) reinit(w http.ResponseWriter, r *http.Request) error {
	agent, err := a.agent(r)
	if err != nil {
		return err
	}
	ctx, done, ok := a.open.add(r.Context(), uuid.New())
	if !ok {
		return coder.Errorf(coder.CodeUnavailable, "The server is stopping; connect again in a moment")
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
	err = a.c.Presence.AwaitClaim(ctx, agent, func() error { return say(string(coder.ServerSentEventTypePing), "") })
	if err != nil {
		if begun { // the answer has begun: that it ends is all that can be said
			return nil
		}
		return err
	}
	b, err := json.Marshal(coder.ReinitializationEvent{Reason: coder.ReinitializationReasonPrebuildClaimed, WorkspaceID: agent.WorkspaceID})
	if err != nil {
		return err
	}
	if err := say(string(coder.ServerSentEventTypeData), "data: "+string(b)+"\n"); err != nil {
		a.c.Log.DebugContext(ctx, "an agent is not there any more to be told of a claim", "agent_id", agent.ID, "error", err)
	}
	return nil
}
