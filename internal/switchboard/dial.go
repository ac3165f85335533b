package switchboard

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// patience is how long the server waits for an agent that is not connected: one
// that has just started, or whose link is being dialed again.
const patience = 2 * time.Second

// DialAgent opens a tunnel for the server itself, on behalf of the user that g
// names, to the agent whose registered certificate is agentCertificate. It is
// the client's code over a link in memory: also here nothing is read on the way.
// An agent that is not connected is waited for only as long as one takes that has
// just come.
func (b *Board) DialAgent(ctx context.Context, g tunnel.Grant, agentCertificate []byte) (*tunnel.Conn, error) {
	if b.c.Authority == nil || len(agentCertificate) == 0 {
		return nil, coder.Errorf(coder.CodeUnavailable, "The agent has not connected yet")
	}
	id, err := tunnel.NewIdentity()
	if err != nil {
		return nil, err
	}
	certificate, err := b.c.Authority.Issue(id.PublicKey(), g, b.c.Now())
	if err != nil {
		return nil, err
	}
	return tunnel.Dial(ctx, tunnel.DialConfig{
		Identity: id, Certificate: certificate, AgentCertificate: agentCertificate, Log: b.c.Log,
		Relay: b.memory(g.AgentID), Patience: patience,
		Direct: tunnel.Direct{Disabled: "the server is the relay"},
	})
}

// memory is the relay of a client in this process.
func (b *Board) memory(agentID uuid.UUID) relay.Dialer {
	return func(context.Context) (relay.Link, error) {
		mine, theirs := relay.LinkPipe()
		go b.ClientLink(context.Background(), agentID, theirs) //nolint:errcheck // mine says why it ended
		return mine, nil
	}
}
