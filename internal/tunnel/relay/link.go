package relay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/coder/websocket"
)

// StatusRestarted closes a client's link: the agent is another instance than the client knows.
// The tunnel is lost and must be dialed again.
const StatusRestarted websocket.StatusCode = 4001

// StatusRefused closes a link permanently: the end that dialed must not retry.
const StatusRefused websocket.StatusCode = 4002

// Link carries relay messages between an end and the relay. Send, Ping and
// Close may be called by several goroutines at once, Receive by one at a time.
type Link interface {
	// Send sends one message, binary or text. It does not keep p.
	Send(text bool, p []byte) error
	// Receive waits for a message. It returns a websocket.CloseError after the other side
	// closed the link.
	Receive() (*Message, error)
	// Ping waits until the other side answers. Another goroutine must be receiving.
	Ping(ctx context.Context) error
	// Close ends the link and tries to send the code and the reason to the other side. With
	// code 0 it sends nothing.
	Close(code websocket.StatusCode, reason string)
}

// Dialer dials a link. Callers dial again whenever the link is lost.
type Dialer func(ctx context.Context) (Link, error)

// Intervals of KeepAlive.
const (
	pingInterval = 15 * time.Second
	pingTimeout  = 10 * time.Second
)

// KeepAlive pings until the context ends, and closes the link when an answer is late. So a
// silently broken path is detected within 25 seconds. KeepAlive returns at once. Between pings
// it uses only a timer, since there are thousands of links.
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

// WebSocketLink returns a link over a WebSocket.
func WebSocketLink(c *websocket.Conn) Link {
	c.SetReadLimit(MaxMessage)
	return webSocketLink{c}
}

type webSocketLink struct{ conn *websocket.Conn }

// Send and Receive use the background context on purpose: a cancelable context costs an
// allocation per message, and would end the connection just as Close does.

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

// Take takes ownership of a received message. If wait is false, Take must not block: if it
// cannot take the message now, it returns false and the message stays the caller's.
type Take func(m *Message, wait bool) bool

// Each passes every received message of a link to take, in order, until the link fails. With a
// link in memory the sending goroutine calls take, possibly until shortly after Each has
// returned.
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
