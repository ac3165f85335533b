package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// Bounds of one change listener.
const (
	maxTopics     = 64
	changeSpacing = 250 * time.Millisecond // minimum time between two messages of one topic
)

var topicForm = regexp.MustCompile(`^[a-z_]{1,40}(/[0-9a-f-]{36})?$`)

// changesRoutes notify dashboards that data changed.
func (a *API) changesRoutes() []rest.Route {
	if a.Hub == nil {
		return nil
	}
	return []rest.Route{
		{Method: "GET", Path: "/changes", Summary: "Watch for changes over a WebSocket",
			Out: codersdk.Change{}, Handler: a.getChanges},
	}
}

// getChanges sends a codersdk.Change whenever a subscribed topic changes. The
// client's latest codersdk.ChangesRequest names the topics; with Ready set,
// each new topic is also confirmed once. A message carries no data: the client
// reads the data again with its own permissions.
func (a *API) getChanges(w http.ResponseWriter, r *http.Request) error {
	conn, err := rest.AcceptWebSocket(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	conn.SetReadLimit(16 << 10)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	l := &listener{ctx: ctx, conn: conn, hub: a.Hub, unsubscribe: map[string]func(){}}
	defer l.tasks.Wait()
	defer l.setTopics(codersdk.ChangesRequest{})
	defer cancel()
	l.tasks.Go(func() { l.ping(cancel) })
	for {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return nil //nolint:nilerr // the client has left
		}
		var want codersdk.ChangesRequest
		if json.Unmarshal(message, &want) != nil || len(want.Topics) > maxTopics ||
			slices.ContainsFunc(want.Topics, func(t string) bool { return !topicForm.MatchString(t) }) {
			conn.Close(websocket.StatusPolicyViolation, //nolint:errcheck // the client may be gone
				"send {\"topics\": [...]} with at most 64 topics, each a kind such as workspace, or kind/id")
			return nil
		}
		l.setTopics(want)
	}
}

// listener is one WebSocket client of getChanges.
type listener struct {
	ctx         context.Context // of the connection; ends the listener's goroutines
	conn        *websocket.Conn
	hub         subscriber
	unsubscribe map[string]func() // by topic
	tasks       sync.WaitGroup
}

// subscriber is the part of notify.Hub that a listener uses.
type subscriber interface {
	Subscribe(topics ...string) (<-chan struct{}, func())
}

// setTopics makes the topics of want the subscribed ones. It must not be called
// concurrently.
func (l *listener) setTopics(want codersdk.ChangesRequest) {
	topics := want.Topics
	for t, end := range l.unsubscribe {
		if !slices.Contains(topics, t) {
			end()
			delete(l.unsubscribe, t)
		}
	}
	for _, t := range topics {
		if l.unsubscribe[t] != nil {
			continue
		}
		ctx, cancel := context.WithCancel(l.ctx)
		hints, end := l.hub.Subscribe(t)
		l.unsubscribe[t] = func() { cancel(); end() }
		l.tasks.Go(func() { l.sendChanges(ctx, t, hints, want.Ready) })
	}
}

// sendChanges sends the changes of one topic, at most one per changeSpacing.
// With ready set, it first confirms the subscription.
func (l *listener) sendChanges(ctx context.Context, topic string, hints <-chan struct{}, ready bool) {
	message, err := json.Marshal(codersdk.Change{Topic: topic})
	if err != nil {
		return
	}
	spacing := time.NewTimer(0)
	defer spacing.Stop()
	for {
		if !ready {
			select {
			case <-ctx.Done():
				return
			case <-hints:
			}
		}
		ready = false
		if l.write(ctx, message) != nil {
			return
		}
		spacing.Reset(changeSpacing)
		select {
		case <-ctx.Done():
			return
		case <-spacing.C:
		}
	}
}

func (l *listener) write(ctx context.Context, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, rest.PingInterval)
	defer cancel()
	return l.conn.Write(ctx, websocket.MessageText, message)
}

// ping detects clients that disappeared without closing the connection, and
// calls cancel.
func (l *listener) ping(cancel func()) {
	lifecycle.Every(l.ctx, rest.PingInterval, func(ctx context.Context) {
		ctx, release := context.WithTimeout(ctx, rest.PingInterval)
		defer release()
		if l.conn.Ping(ctx) != nil {
			cancel()
		}
	})
}
