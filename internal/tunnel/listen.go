package tunnel

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
)

// ListenConfig says who an agent is and what it serves.
type ListenConfig struct {
	Identity *Identity
	AgentID  uuid.UUID
	ClientCA []byte // DER of the Authority's certificate
	Relay    Relay
	// Handle serves one stream, in a goroutine of its own; the stream is closed
	// when it returns. The context ends with the tunnel, or with Stop.
	Handle func(ctx context.Context, r *Request)
	Log    *slog.Logger
	Now    func() time.Time // nil: time.Now
}

// Request is a client's wish for a stream, already checked against its
// certificate. Answer it with Accept or Reject.
type Request struct {
	Kind, Arg string
	Grant     Grant // who asks

	stream *Stream
}

// Accept tells the client that all is well and gives the stream.
func (r *Request) Accept() (*Stream, error) { return nil, errors.New("accept") }

// Reject tells the client why not; the message of err is for people.
func (r *Request) Reject(err error) {}

// Listener is an agent's end of all its tunnels: a lifecycle.Service.
type Listener struct{}

// Listen makes a listener; Start starts it.
func Listen(c ListenConfig) (*Listener, error) { return &Listener{}, nil }

// Start begins to dial the relay and to serve clients. It does not wait for
// the relay.
func (l *Listener) Start(context.Context) error { return nil }

// Stop ends all tunnels, after telling the clients, and waits for the
// handlers until ctx ends.
func (l *Listener) Stop(ctx context.Context) error { return nil }

// Connected says whether a link to the relay is up.
func (l *Listener) Connected() bool { return false }
