package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/coder/websocket"
)

// MaxMessage is the most bytes of a relay message.
const MaxMessage = 32 << 10

// StatusRestarted closes a client's link: the agent is another instance than
// the client knows, so the tunnel is lost and must be dialed anew.
const StatusRestarted websocket.StatusCode = 4001

// StatusRefused closes a link for ever: whoever dialed shall not try again.
const StatusRefused websocket.StatusCode = 4002

// Link carries relay messages between an end and the relay. Send and Close
// may be called by several goroutines at once, Receive by one at a time.
type Link interface {
	// Send transmits one message, binary or text. It keeps nothing of p.
	Send(text bool, p []byte) error
	// Receive waits for a message and reads it into buf, which must hold
	// MaxMessage bytes.
	Receive(buf []byte) (text bool, n int, err error)
	// Ping waits until the other side answers.
	Ping(ctx context.Context) error
	// Close ends the link. Code and reason reach the other side if they can.
	Close(code websocket.StatusCode, reason string)
}

// Relay dials a link. It is called again whenever the link is lost. Errors
// with the codes not_found, forbidden and unauthenticated are final.
type Relay func(ctx context.Context) (Link, error)

// WebSocketLink makes a link of a WebSocket.
func WebSocketLink(c *websocket.Conn) Link {
	c.SetReadLimit(MaxMessage)
	return webSocketLink{c}
}

type webSocketLink struct{ conn *websocket.Conn }

// The contexts are the background on purpose: one that can end would cost an
// allocation per message, and would close the connection in the end anyway.

func (l webSocketLink) Send(text bool, p []byte) error {
	kind := websocket.MessageBinary
	if text {
		kind = websocket.MessageText
	}
	return l.conn.Write(context.Background(), kind, p)
}

func (l webSocketLink) Receive(buf []byte) (bool, int, error) {
	kind, r, err := l.conn.Reader(context.Background())
	if err != nil {
		return false, 0, err
	}
	n, err := io.ReadFull(r, buf)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
	case err != nil:
		return false, 0, err
	default: // full: only right if nothing follows
		var one [1]byte
		if m, err := r.Read(one[:]); m != 0 || !errors.Is(err, io.EOF) {
			l.conn.CloseNow()
			return false, 0, fmt.Errorf("a relay message of more than %d bytes", len(buf))
		}
	}
	return kind == websocket.MessageText, n, nil
}

func (l webSocketLink) Ping(ctx context.Context) error { return l.conn.Ping(ctx) }

func (l webSocketLink) Close(code websocket.StatusCode, reason string) {
	if code == 0 {
		l.conn.CloseNow()
		return
	}
	l.conn.Close(code, reason)
}
