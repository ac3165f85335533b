package httpapi

import (
	"context"
	"net/http"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/viewer"
)

// openPTY connects a WebSocket to a terminal of an agent. Messages from the
// viewer are coder.ReconnectingPTYRequest; what the terminal shows comes as
// binary messages. The same reconnect id leads to the same terminal. A viewer
// that gives an id of its own gets coder.ReconnectingPTYStatus too, as text
// messages, and goes on with session and offset where it was cut off. (AG-14)
func (a *API) openPTY(w http.ResponseWriter, r *http.Request) error {
	id, err := pathID(r, "workspaceagent")
	if err != nil {
		return err
	}
	arg, err := viewer.Argument(r.URL.Query())
	if err != nil {
		return err
	}
	agent, err := a.Presence.AgentForUser(r.Context(), a.actor(r), id, coder.RBACActionSSH)
	if err != nil {
		return err
	}
	if agent.Status != coder.WorkspaceAgentStatusConnected || a.AgentPTY == nil {
		return coder.Errorf(coder.CodeUnavailable, "The agent is not connected: start the workspace, or wait until its agent is ready")
	}
	stream, err := a.AgentPTY(r.Context(), agent, arg)
	if err != nil {
		return coder.Errorf(coder.CodeUnavailable, "The agent opens no terminal").WithDetail("%v", err)
	}
	conn, err := accept(w, r)
	if err != nil {
		stream.Close()
		return err
	}
	if a.Connections != nil {
		defer a.Connections.Open(connection.Connection{
			Type: coder.ConnectionTypeReconnectingPTY, AgentID: agent.ID, UserID: a.actor(r).UserID, Origin: a.origin(r),
		})("The viewer left, or the terminal ended")
	}
	ctx, cancel := a.holdAgent(r, agent)
	defer cancel()
	viewer.Join(ctx, conn, stream, r.URL.Query())
	return nil
}

// holdAgent gives a context that ends soon after the user of a request may no
// longer enter an agent. The caller calls end.
func (a *API) holdAgent(r *http.Request, agent presence.Agent) (held context.Context, end func()) {
	return a.Identity.Hold(r.Context(), a.actor(r), func(ctx context.Context, now access.Subject) error {
		_, err := a.Presence.AgentForUser(ctx, now, agent.ID, coder.RBACActionSSH)
		return err
	}, notify.Sharing(agent.WorkspaceID))
}
