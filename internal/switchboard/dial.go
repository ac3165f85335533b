package switchboard

import (
	"context"
	"net"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// Open opens a stream to an agent on behalf of the server, in the warm tunnel to
// it. The errors have the code unavailable when the agent cannot be reached
// now, precondition when it refuses. The stream has CloseWrite.
func (b *Board) Open(ctx context.Context, to tunnel.Target, kind, arg string) (net.Conn, error) {
	return b.warm.Open(ctx, to, kind, arg)
}

// dialOwn opens a tunnel of no user, for those whom the server serves come and go.
func (b *Board) dialOwn(ctx context.Context, to tunnel.Target) (*tunnel.Conn, error) {
	return b.DialAgent(ctx, tunnel.Grant{
		WorkspaceID: to.WorkspaceID, AgentID: to.AgentID, Actions: []string{tunnel.KindTCP, tunnel.KindPTY, tunnel.KindAgentAPI},
	}, to.Certificate)
}

// DialAgent opens a tunnel for the server itself, on behalf of the user that g
// names, to the agent whose registered certificate is agentCertificate. It is
// the client's code over a link in memory: also here nothing is read on the way.
// An agent that is not connected is waited for only as long as one takes that has
// just come.
func (b *Board) DialAgent(ctx context.Context, g tunnel.Grant, agentCertificate []byte) (conn *tunnel.Conn, err error) {
	ctx, span := b.c.Tracer.Start(ctx, "tunnel dial", tracing.KindClient, tracing.String("coder.agent.id", g.AgentID.String()),
		tracing.String("coder.workspace.id", g.WorkspaceID.String()))
	defer func() { tracing.End(span, err) }()
	if b.c.Authority == nil || len(agentCertificate) == 0 {
		return nil, codersdk.Errorf(codersdk.CodeUnavailable, "The agent has not connected yet")
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
		Relay: b.memory(g.AgentID), Patience: tunnel.Patience, Outage: tunnel.ServerOutage,
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
