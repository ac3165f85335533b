package tunnel

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/seed-2a7f8fe7/coder"
)

// DialConfig says how to reach an agent and who we are.
type DialConfig struct {
	Identity         *Identity
	Certificate      []byte // DER, issued by the Authority for Identity
	AgentCertificate []byte // DER, pinned
	Relay            Relay
	Log              *slog.Logger
}

// Conn is the client's end of a tunnel. It is safe for concurrent use, and
// survives every outage shorter than IdleTimeout.
type Conn struct {
	grant coder.TunnelGrant
	conn  *quic.Conn
	path  *path
}

// Dial opens a tunnel. The context bounds the dialing alone.
func Dial(ctx context.Context, c DialConfig) (*Conn, error) {
	return nil, errors.New("dial")
}

// Open opens a stream of a kind, with the argument of that kind, and waits
// until the agent has accepted it. The context bounds the opening alone.
func (c *Conn) Open(ctx context.Context, kind, arg string) (*Stream, error) {
	return nil, errors.New("open")
}

// Ping gives the time that a question to the agent and its answer take.
func (c *Conn) Ping(ctx context.Context) (time.Duration, error) {
	start := time.Now()
	s, err := c.Open(ctx, kindPing, "")
	if err != nil {
		return 0, err
	}
	defer s.Close()
	return time.Since(start), nil
}

// Grant gives what the server answered to DialAgent: the SSH host key, the
// granted actions. It is empty after Dial.
func (c *Conn) Grant() coder.TunnelGrant { return c.grant }

// Done is closed when the tunnel has ended.
func (c *Conn) Done() <-chan struct{} { return c.conn.Context().Done() }

// Err says why the tunnel has ended, nil while it lives.
func (c *Conn) Err() error { return connError(context.Cause(c.conn.Context())) }

// Close ends the tunnel and all its streams at once.
func (c *Conn) Close() error { return nil }

type path struct{}

func connError(err error) error { return err }

var _ net.Conn = (*Stream)(nil)
