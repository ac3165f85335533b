package tunnel

import (
	"context"
	"errors"
	"log/slog"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/client"
)

// Options are what DialAgent may be told.
type Options struct {
	Log *slog.Logger // nil: nothing is logged
	// Waiting is called when the agent is not connected and DialAgent waits
	// for it until its context ends. It may be nil.
	Waiting func()
}

// DialAgent opens a tunnel to an agent through the server of c.
func DialAgent(ctx context.Context, c *client.Client, agentID uuid.UUID, o Options) (*Conn, error) {
	return nil, errors.New("dial agent")
}

// AgentRelay is the Relay of an agent whose token c holds.
func AgentRelay(c *client.Client) Relay {
	return func(ctx context.Context) (Link, error) {
		conn, err := c.AgentRelay(ctx)
		if err != nil {
			return nil, err
		}
		return WebSocketLink(conn), nil
	}
}
