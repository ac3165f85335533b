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

	"github.com/seed-2a7f8fe7/coder"
)

// Bounds of one listener.
const (
	maxTopics     = 64
	changeSpacing = 250 * time.Millisecond // between two hints of one topic
)

var topicForm = regexp.MustCompile(`^[a-z_]{1,40}(/[0-9a-f-]{36})?$`)

// changesRoutes tell pages when to read again.
func (a *API) changesRoutes() []Route {
	if a.Hub == nil {
		return nil
	}
	return []Route{
		{Method: "GET", Path: "/changes", Summary: "Hear what changes, by WebSocket", Out: coder.Change{}, Handler: a.getChanges},
	}
}

// getChanges sends a coder.Change whenever one of the topics changed that the
// latest coder.ChangesRequest of the client names, and when it begins to listen
// to one if the client wants to know. A hint holds no data: what
// changed is read as always, with the rights of whoever reads.
func (a *API) getChanges(w http.ResponseWriter, r *http.Request) error {
	conn, err := accept(w, r)
	if err != nil {
		return err
	}
	defer conn.CloseNow() //nolint:errcheck // closed in order below if it can be
	conn.SetReadLimit(16 << 10)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	l := &listener{ctx: ctx, conn: conn, hub: a.Hub, ends: map[string]func(){}}
	defer l.tasks.Wait()
	defer l.listen(coder.ChangesRequest{})
	defer cancel()
	l.tasks.Go(func() { l.ping(cancel) })
	for {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return nil //nolint:nilerr // the client has left
		}
		var want coder.ChangesRequest
		if json.Unmarshal(message, &want) != nil || len(want.Topics) > maxTopics ||
			slices.ContainsFunc(want.Topics, func(t string) bool { return !topicForm.MatchString(t) }) {
			conn.Close(websocket.StatusPolicyViolation, "send {\"topics\": [...]}, at most 64 of them, each a kind such as workspace, or kind/id") //nolint:errcheck // the client may be gone
			return nil
		}
		l.listen(want)
	}
}

// listener is one client of getChanges.
type listener struct {
	ctx   context.Context // of the connection, whose goroutines it ends
	conn  *websocket.Conn
	hub   subscriber
	ends  map[string]func() // by topic
	tasks sync.WaitGroup
}

// subscriber is the part of notify.Hub that hears.
type subscriber interface {
	Subscribe(topics ...string) (<-chan struct{}, func())
}

// listen makes the topics of want those that are listened to. It is called from
// one goroutine at a time.
func (l *listener) listen(want coder.ChangesRequest) {
	topics := want.Topics
	for t, end := range l.ends {
		if !slices.Contains(topics, t) {
			end()
			delete(l.ends, t)
		}
	}
	for _, t := range topics {
		if l.ends[t] != nil {
			continue
		}
		ctx, cancel := context.WithCancel(l.ctx)
		hints, end := l.hub.Subscribe(t)
		l.ends[t] = func() { cancel(); end() }
		l.tasks.Go(func() { l.tell(ctx, t, hints, want.Ready) })
	}
}

// tell sends the hints of one topic, those of a short while as one; with ready,
// the first is that they are sent from now on.
func (l *listener) tell(ctx context.Context, topic string, hints <-chan struct{}, ready bool) {
	message, err := json.Marshal(coder.Change{Topic: topic})
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
	ctx, cancel := context.WithTimeout(ctx, pingInterval)
	defer cancel()
	return l.conn.Write(ctx, websocket.MessageText, message)
}

// ping notices clients that went away without a word.
func (l *listener) ping(cancel func()) {
	defer cancel()
	tick := time.NewTicker(pingInterval)
	defer tick.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
		}
		ctx, done := context.WithTimeout(l.ctx, pingInterval)
		err := l.conn.Ping(ctx)
		done()
		if err != nil {
			return
		}
	}
}
