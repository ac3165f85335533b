package httpapi

import (
	"context"
	"net/http"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/connection"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
	"github.com/seed-2a7f8fe7/coder/internal/ptybridge"
)

// openPTY connects a WebSocket to a terminal of an agent. The client sends
// codersdk.ReconnectingPTYRequest; terminal output arrives as binary messages.
// The same reconnect id opens the same terminal. A client that sends its own
// client id also receives codersdk.ReconnectingPTYStatus as text messages, and
// can resume by session and offset. (AG-14)
func (a *API) openPTY(w http.ResponseWriter, r *http.Request) error {
	id, err := rest.PathID(r, "workspaceagent")
	if err != nil {
		return err
	}
	arg, err := ptybridge.Argument(r.URL.Query())
	if err != nil {
		return err
	}
	agent, err := a.Presence.AgentForUser(r.Context(), rest.Actor(r), id, codersdk.RBACActionSSH)
	if err != nil {
		return err
	}
	if agent.Status != codersdk.WorkspaceAgentStatusConnected || a.AgentPTY == nil {
		return codersdk.Errorf(codersdk.CodeUnavailable, "The agent is not connected; start the workspace, or wait until its agent is ready")
	}
	stream, err := a.AgentPTY(r.Context(), agent, arg)
	if err != nil {
		return codersdk.Errorf(codersdk.CodeUnavailable, "The agent could not open a terminal").WithDetail("%v", err)
	}
	conn, err := rest.AcceptWebSocket(w, r)
	if err != nil {
		stream.Close()
		return err
	}
	if a.Connections != nil {
		defer a.Connections.Open(connection.Connection{
			Type: codersdk.ConnectionTypeReconnectingPTY, AgentID: agent.ID, UserID: rest.Actor(r).UserID, Origin: a.origin(r),
		})("The user disconnected, or the terminal ended")
	}
	ctx, cancel := a.agentContext(r, agent)
	defer cancel()
	ptybridge.Join(ctx, conn, stream, r.URL.Query())
	return nil
}

// agentContext returns a context that is canceled when the user of the request
// loses access to the agent. The caller calls release.
func (a *API) agentContext(r *http.Request, agent presence.Agent) (held context.Context, end func()) {
	return a.Identity.Hold(r.Context(), rest.Actor(r), func(ctx context.Context, now access.Subject) error {
		_, err := a.Presence.AgentForUser(ctx, now, agent.ID, codersdk.RBACActionSSH)
		return err
	}, notify.Sharing(agent.WorkspaceID))
}
