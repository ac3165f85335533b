package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder"
)

// pingInterval is how often a stream of events says that it is alive.
const pingInterval = 15 * time.Second

// watcher calls each with every new state of something until ctx ends.
type watcher func(ctx context.Context, each func(json.RawMessage) error) error

// watchWorkspace streams a workspace by one of the two transports. (WS-24)
func (a *API) watchWorkspace(serve func(http.ResponseWriter, *http.Request, watcher) error) HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := pathID(r, "workspace")
		if err != nil {
			return err
		}
		actor := a.actor(r)
		if err := a.Workspaces.CheckRead(r.Context(), actor, id); err != nil {
			return err
		}
		return serve(w, r, func(ctx context.Context, each func(json.RawMessage) error) error {
			return a.Workspaces.Watch(ctx, actor, id, each)
		})
	}
}

// serveEvents streams as server-sent events. (CP-13)
func serveEvents(w http.ResponseWriter, r *http.Request, watch watcher) error {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	return relay(r.Context(), watch, func(e coder.ServerSentEvent) error {
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

// serveEventsWebSocket streams the same events as messages of a WebSocket.
func serveEventsWebSocket(w http.ResponseWriter, r *http.Request, watch watcher) error {
	conn, err := accept(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	ctx := conn.CloseRead(r.Context())
	err = relay(ctx, watch, func(e coder.ServerSentEvent) error {
		b, err := json.Marshal(e)
		if err != nil {
			return err
		}
		write, cancel := context.WithTimeout(ctx, pingInterval)
		defer cancel()
		return conn.Write(write, websocket.MessageText, b)
	})
	conn.Close(websocket.StatusNormalClosure, "") //nolint:errcheck // the peer may be gone
	return err
}

// relay sends what watch sees, and a ping now and then, until ctx ends, send
// fails, or there is nothing more to see, which it says as an error event.
func relay(ctx context.Context, watch watcher, send func(coder.ServerSentEvent) error) error {
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
	ping := time.NewTicker(pingInterval)
	defer ping.Stop()
	for {
		e := coder.ServerSentEvent{Type: coder.ServerSentEventTypePing}
		select {
		case <-ctx.Done():
			return nil
		case <-ping.C:
		case m := <-states:
			e = coder.ServerSentEvent{Type: coder.ServerSentEventTypeData, Data: m}
		case err := <-ended:
			ended = nil
			if ctx.Err() != nil {
				return nil
			}
			data, err := json.Marshal(coder.Response{Message: publicMessage(err)})
			if err != nil {
				return err
			}
			return send(coder.ServerSentEvent{Type: coder.ServerSentEventTypeError, Data: data})
		}
		if err := send(e); err != nil {
			return nil //nolint:nilerr // the client went away
		}
	}
}

// publicMessage is what may be said of an error in the middle of an answer.
func publicMessage(err error) string {
	if coder.Is(err, coder.CodeNotFound) {
		return coder.NotFound().Message
	}
	return "The server cannot go on with this; ask again"
}
