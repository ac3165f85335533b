package agentapi

import (
	"context"
	"net"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// Dial opens a stream to an agent for the server itself; the caller has checked
// access. The error has CodePrecondition if the agent refused.
func (a *API) Dial(ctx context.Context, agentID uuid.UUID, kind, arg string) (net.Conn, error) {
	agent, err := a.c.Presence.AgentForUser(ctx, access.System(), agentID, codersdk.RBACActionApplicationConnect)
	if err != nil {
		return nil, err
	}
	return a.dial(ctx, agent, kind, arg)
}
