package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// AcceptWebSocket upgrades the request to a WebSocket and refuses pages of other
// origins. On failure it has already replied: return the error unchanged. The
// caller closes the connection.
func AcceptWebSocket(w http.ResponseWriter, r *http.Request) (*websocket.Conn, error) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil, fmt.Errorf("accept WebSocket: %w", err)
	}
	return conn, nil
}

// PingInterval is the interval of keep-alive events on a stream, and the
// timeout of one write.
const PingInterval = 15 * time.Second

// Watcher calls each with every new state of a resource until ctx ends.
type Watcher func(ctx context.Context, each func(json.RawMessage) error) error

// ServeEvents streams server-sent events. (CP-13)
func ServeEvents(w http.ResponseWriter, r *http.Request, watch Watcher) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	return streamEvents(r.Context(), watch, func(e codersdk.ServerSentEvent) error {
		var b bytes.Buffer
		fmt.Fprintf(&b, "event: %s\n", e.Type)
		if e.Data != nil {
			fmt.Fprintf(&b, "data: %s\n", e.Data)
		}
		b.WriteByte('\n')
		if _, err := w.Write(b.Bytes()); err != nil {
			return err
		}
		return out.Flush()
	})
}

// ServeEventsWebSocket streams the same events as WebSocket messages.
func ServeEventsWebSocket(w http.ResponseWriter, r *http.Request, watch Watcher) error {
	conn, err := AcceptWebSocket(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	ctx := conn.CloseRead(r.Context())
	err = streamEvents(ctx, watch, func(e codersdk.ServerSentEvent) error {
		b, err := json.Marshal(e)
		if err != nil {
			return err
		}
		write, cancel := context.WithTimeout(ctx, PingInterval)
		defer cancel()
		return conn.Write(write, websocket.MessageText, b)
	})
	conn.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // the peer may be gone
	return err
}

// streamEvents sends the states that watch reports, and a ping every
// PingInterval. It returns when ctx ends, when send fails, or after watch
// ended, which it reports as an error event.
func streamEvents(ctx context.Context, watch Watcher, send func(codersdk.ServerSentEvent) error) error {
	ctx, cancel := context.WithCancel(ctx)
	states, ended := make(chan json.RawMessage), make(chan error, 1)
	go func() {
		ended <- watch(ctx, func(m json.RawMessage) error {
			select {
			case states <- m:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	defer func() {
		cancel()
		if ended != nil {
			<-ended
		}
	}()
	ping := time.NewTicker(PingInterval)
	defer ping.Stop()
	for {
		e := codersdk.ServerSentEvent{Type: codersdk.ServerSentEventTypePing}
		select {
		case <-ctx.Done():
			return nil
		case <-ping.C:
		case m := <-states:
			e = codersdk.ServerSentEvent{Type: codersdk.ServerSentEventTypeData, Data: m}
		case err := <-ended:
			ended = nil
			if ctx.Err() != nil {
				return nil
			}
			data, err := json.Marshal(codersdk.Response{Message: PublicMessage(err)})
			if err != nil {
				return err
			}
			return send(codersdk.ServerSentEvent{Type: codersdk.ServerSentEventTypeError, Data: data})
		}
		if err := send(e); err != nil {
			return nil //nolint:nilerr // the client went away
		}
	}
}

// PublicMessage returns the text that a client sees when a stream fails.
func PublicMessage(err error) string {
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return codersdk.NotFound().Message
	}
	return "The server closed the stream after an error; reconnect"
}
