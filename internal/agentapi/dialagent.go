package agentapi

import (
	"context"
	"net"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// Dial opens a stream to an agent for the server itself, which has made sure
// that it may. The error has the code precondition when the agent refused.
func (a *API) Dial(ctx context.Context, agentID uuid.UUID, kind, arg string) (net.Conn, error) {
	agent, err := a.c.Presence.AgentForUser(ctx, access.System(), agentID, coder.RBACActionApplicationConnect)
	if err != nil {
		return nil, err
	}
	return a.dial(ctx, agent, kind, arg)
}
