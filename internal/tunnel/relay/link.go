package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/coder/websocket"
)

// StatusRestarted closes a client's link: the agent is another instance than
// the client knows, so the tunnel is lost and must be dialed again.
const StatusRestarted websocket.StatusCode = 4001

// StatusRefused closes a link for good: the end that dialed does not try again.
const StatusRefused websocket.StatusCode = 4002

// Link carries relay messages between an end and the relay. Send, Ping and
// Close may be called by several goroutines at once, Receive by one at a time.
type Link interface {
	// Send transmits one message, binary or text. It keeps nothing of p.
	Send(text bool, p []byte) error
	// Receive waits for a message. A link that the other side closed gives a
	// websocket.CloseError.
	Receive() (*Message, error)
	// Ping waits until the other side answers. Another goroutine must be receiving.
	Ping(ctx context.Context) error
	// Close ends the link. The code and the reason reach the other side if they
	// can; code 0 does not try.
	Close(code websocket.StatusCode, reason string)
}

// Dialer dials a link. It is called again whenever the link is lost.
type Dialer func(ctx context.Context) (Link, error)

// How links are watched.
const (
	pingInterval = 15 * time.Second
	pingTimeout  = 10 * time.Second
)

// KeepAlive pings until the context ends, and closes the link when an answer
// is late: a path that died in silence is noticed within 25 seconds. It returns
// at once; between pings it is a timer, for there are thousands of links.
func KeepAlive(ctx context.Context, l Link) {
	if ctx.Err() != nil {
		return
	}
	time.AfterFunc(pingInterval, func() {
		if ctx.Err() != nil {
			return
		}
		p, cancel := context.WithTimeout(ctx, pingTimeout)
		defer cancel()
		if l.Ping(p) != nil {
			l.Close(0, "")
			return
		}
		KeepAlive(ctx, l)
	})
}

// WebSocketLink makes a link of a WebSocket.
func WebSocketLink(c *websocket.Conn) Link {
	c.SetReadLimit(MaxMessage)
	return webSocketLink{c}
}

type webSocketLink struct{ conn *websocket.Conn }

// The contexts below are the background on purpose: one that can end costs an
// allocation per message, and ends the connection just as Close does.

func (l webSocketLink) Send(text bool, p []byte) error {
	kind := websocket.MessageBinary
	if text {
		kind = websocket.MessageText
	}
	return l.conn.Write(context.Background(), kind, p)
}

func (l webSocketLink) Receive() (*Message, error) {
	kind, r, err := l.conn.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	m := newMessage()
	m.Text = kind == websocket.MessageText
	for {
		n, err := r.Read(m.Data[len(m.Data):cap(m.Data)])
		m.Data = m.Data[:len(m.Data)+n]
		switch {
		case errors.Is(err, io.EOF):
			return m, nil
		case err == nil && len(m.Data) == cap(m.Data):
			// Full: the next read reports whether that was all.
			var one [1]byte
			if n, err = r.Read(one[:]); n == 0 && errors.Is(err, io.EOF) {
				return m, nil
			}
			err = fmt.Errorf("a relay message of more than %d bytes", MaxMessage)
		}
		if err != nil {
			m.Release()
			return nil, err
		}
	}
}

// Take is given what comes by a link, which is its own from then on. When wait is
// not set it does not wait, but says that it does not take the message now.
type Take func(m *Message, wait bool) bool

// Each has every message that comes by a link taken, in order, until the link fails.
// Of a link in memory the sender does that: until then, and for a moment
// after.
func Each(l Link, take Take) error {
	if e, ok := l.(interface{ Each(take Take) error }); ok {
		return e.Each(take)
	}
	for {
		m, err := l.Receive()
		if err != nil {
			return err
		}
		take(m, true)
	}
}

func (l webSocketLink) Ping(ctx context.Context) error { return l.conn.Ping(ctx) }

func (l webSocketLink) Close(code websocket.StatusCode, reason string) {
	if code == 0 {
		l.conn.CloseNow()
		return
	}
	l.conn.Close(code, reason)
}
