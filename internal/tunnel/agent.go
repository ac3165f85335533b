package tunnel

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// Options configure DialAgent.
type Options struct {
	Log *slog.Logger // nil: nothing is logged
	// NoDirect is the reason for which direct paths are disabled; "" enables them.
	NoDirect string
	// Outage is the time without any packet from the agent after which the tunnel ends; 0
	// means that only the agent ends it.
	Outage time.Duration
	// Waiting is called when the agent is not connected and DialAgent waits for it until its
	// context ends. It may be nil.
	Waiting func()
}

// agentWait is the first delay before DialAgent retries an agent that is not connected.
const agentWait = 50 * time.Millisecond

// Relay dials the relay, and Link is one connection to it.
type (
	Relay = relay.Dialer
	Link  = relay.Link
)

// DialAgent opens a tunnel to an agent through the server of c, and waits for
// an agent that is not connected until the context ends.
func DialAgent(ctx context.Context, c *codersdk.Client, agentID uuid.UUID, o Options) (*Conn, error) {
	for wait := (lifecycle.Backoff{First: agentWait, Limit: time.Second}); ; {
		conn, err := dialAgent(ctx, c, agentID, o)
		if err == nil || !isAgentMissing(err) {
			return conn, err
		}
		if o.Waiting != nil {
			o.Waiting()
		}
		if !wait.Sleep(ctx) {
			return nil, err
		}
	}
}

// isAgentMissing reports whether err means that the agent is not connected yet (409), or was
// restarted after the server identified it.
func isAgentMissing(err error) bool {
	return codersdk.Is(err, codersdk.CodeConflict) || websocket.CloseStatus(err) == relay.StatusRestarted
}

func dialAgent(ctx context.Context, c *codersdk.Client, agentID uuid.UUID, o Options) (*Conn, error) {
	// Dial the WebSocket while the server issues the certificate.
	first := make(chan firstLink, 1)
	dialing, cancel := context.WithCancel(ctx)
	go func() {
		l, err := clientLink(dialing, c, agentID)
		first <- firstLink{l, err}
	}()
	discardFirst := func() {
		cancel()
		if f := <-first; f.link != nil {
			f.link.Close(0, "")
		}
	}
	id, err := NewIdentity()
	if err != nil {
		discardFirst()
		return nil, err
	}
	g, err := c.GrantTunnel(ctx, agentID, codersdk.TunnelRequest{PublicKey: id.PublicKey()})
	if err != nil {
		discardFirst()
		return nil, err
	}
	direct := Direct{Disabled: o.NoDirect, STUN: g.STUNServers}
	if g.DisableDirectConnections {
		direct.Disabled = "the server does not allow direct connections"
	}
	conn, err := Dial(ctx, DialConfig{
		Direct: direct, Outage: o.Outage,
		Identity: id, Certificate: g.Certificate, AgentCertificate: g.AgentCertificate, Log: o.Log, Waiting: o.Waiting,
		Relay: func(ctx context.Context) (relay.Link, error) {
			select {
			case f, ok := <-first:
				if ok {
					close(first)
					return f.link, f.err
				}
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			c.Renew()
			return clientLink(ctx, c, agentID)
		},
	})
	if err != nil {
		discardFirst()
		return nil, err
	}
	conn.grant = g
	if slices.Contains(g.Actions, KindRelay) && len(g.Proxies) > 0 {
		conn.nearest = newNearest(conn, c, agentID, id)
		go conn.nearest.run(conn.conn.Context())
	}
	return conn, nil
}

type firstLink struct {
	link relay.Link
	err  error
}

func clientLink(ctx context.Context, c *codersdk.Client, agentID uuid.UUID) (relay.Link, error) {
	conn, err := withWholeFrames(c).ClientRelay(ctx, agentID)
	if err != nil {
		return nil, err
	}
	return relay.WebSocketLink(conn), nil
}

// AgentRelay returns the Relay of an agent. c has the agent's token.
func AgentRelay(c *codersdk.Client) Relay {
	return func(ctx context.Context) (relay.Link, error) {
		c.Renew()
		conn, err := withWholeFrames(c).AgentRelay(ctx)
		if err != nil {
			return nil, err
		}
		return relay.WebSocketLink(conn), nil
	}
}

// withWholeFrames returns a copy of c for links to the relay, whose WebSockets write each
// frame at once.
func withWholeFrames(c *codersdk.Client) *codersdk.Client {
	with := *c
	with.HTTP = relay.HTTPClient(c.HTTP)
	return &with
}

// AcceptRelay upgrades a request to the WebSocket of a link to the relay. If that fails,
// AcceptRelay has already sent a response. Packets are ciphertext, which compression cannot
// shrink.
func AcceptRelay(w http.ResponseWriter, r *http.Request) (*websocket.Conn, error) {
	return websocket.Accept(relay.ResponseWriter(w), r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
}
