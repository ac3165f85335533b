package notify

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

const (
	channel = "coder_hints"
	// maxPayload is below PostgreSQL's limit of 8000 bytes per NOTIFY.
	maxPayload = 7900
	// gather is the time for which topics are collected after a NOTIFY.
	// Notifying transactions commit one after the other, so fewer are faster.
	gather = 2 * time.Millisecond
	// tell does not wait for the disk: a crash of the database that loses a
	// hint also closes the connections that the hint concerns.
	tell = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)"
)

// Hub publishes and receives the hints of one server. It is safe for concurrent
// use.
type Hub struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	self string // marks this server's hints, which local subscribers have received already

	mu     sync.Mutex
	subs   map[string]map[chan struct{}]struct{}
	outbox map[string]struct{}
	echoes map[string]chan struct{} // running latency measurements, by topic
	kick   chan struct{}

	group lifecycle.Group
}

// New returns a hub over the pool. It uses one connection of the pool to LISTEN
// and others briefly to NOTIFY. Publish and Subscribe work locally at once;
// other replicas are reached after Start.
func New(pool *pgxpool.Pool, log *slog.Logger) *Hub {
	return &Hub{
		pool: pool, log: log, self: randomID(),
		subs: map[string]map[chan struct{}]struct{}{}, outbox: map[string]struct{}{}, echoes: map[string]chan struct{}{}, kick: make(chan struct{}, 1),
	}
}

func randomID() string {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	b := make([]byte, 12)
	for i := range b {
		b[i] = letters[rand.IntN(len(letters))]
	}
	return string(b)
}

// Start starts listening and sending. It does not wait for the connection.
func (h *Hub) Start(ctx context.Context) error {
	return h.group.Start(ctx,
		lifecycle.Named{Name: "hint listener", Service: &lifecycle.Loop{Run: h.listenForEver}},
		lifecycle.Named{Name: "hint sender", Service: &lifecycle.Loop{Run: h.send}},
	)
}

// Stop sends the pending hints and stops.
func (h *Hub) Stop(ctx context.Context) error { return h.group.Stop(ctx) }

// Publish notifies the subscribers of the topics: local ones at once,
// those of other replicas shortly after. Call it after the commit. It neither
// blocks nor fails; subscribers poll to make up for lost hints.
func (h *Hub) Publish(topics ...string) {
	h.mu.Lock()
	for _, t := range topics {
		h.signal(t)
		h.outbox[t] = struct{}{}
	}
	h.mu.Unlock()
	select {
	case h.kick <- struct{}{}:
	default:
	}
}

// PublishHere notifies the subscribers of this server only.
func (h *Hub) PublishHere(topics ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		h.signal(t)
	}
}

// Subscribe returns a channel that is signaled, coalesced, whenever one of the
// topics may have changed, and a function that ends the subscription. A kind
// such as "workspace" stands for every topic of that kind.
func (h *Hub) Subscribe(topics ...string) (<-chan struct{}, func()) {
	c := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		if h.subs[t] == nil {
			h.subs[t] = map[chan struct{}]struct{}{}
		}
		h.subs[t][c] = struct{}{}
	}
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, t := range topics {
			delete(h.subs[t], c)
			if len(h.subs[t]) == 0 {
				delete(h.subs, t)
			}
		}
	}
}

// signal notifies the subscribers of a topic. The caller holds mu.
func (h *Hub) signal(topic string) {
	kind, _, one := strings.Cut(topic, "/")
	wake(h.subs[topic])
	if one {
		wake(h.subs[kind])
	}
}

func wake(subscribers map[chan struct{}]struct{}) {
	for c := range subscribers {
		select {
		case c <- struct{}{}:
		default: // a signal is pending already
		}
	}
}

func (h *Hub) signalAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for t := range h.subs {
		h.signal(t)
	}
}

// send empties the outbox, with many topics per NOTIFY.
func (h *Hub) send(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.Background(), time.Second)
			h.flush(last)
			cancel()
			return
		case <-h.kick:
		}
		// Send the first hint at once, and collect those that follow.
		h.flush(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(gather):
		}
	}
}

func (h *Hub) flush(ctx context.Context) {
	h.mu.Lock()
	topics := h.outbox
	h.outbox = map[string]struct{}{}
	h.mu.Unlock()
	var b strings.Builder
	notify := func() {
		if b.Len() == 0 {
			return
		}
		if _, err := h.pool.Exec(ctx, tell, channel, h.self+b.String()); err != nil && ctx.Err() == nil {
			h.log.Warn("sending hints to other replicas failed; they fall back to polling", "error", err)
		}
		b.Reset()
	}
	for t := range topics {
		if len(h.self)+b.Len()+1+len(t) > maxPayload {
			notify()
		}
		b.WriteByte(' ')
		b.WriteString(t)
	}
	notify()
}

// listenForEver keeps a LISTEN connection open. After each reconnect all
// subscribers are signaled, because hints may have been missed.
func (h *Hub) listenForEver(ctx context.Context) {
	wait := lifecycle.Backoff{First: 50 * time.Millisecond, Limit: 5 * time.Second}
	for ctx.Err() == nil {
		start := time.Now()
		err := h.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		h.log.Warn("hint connection lost; reconnecting", "error", err)
		if time.Since(start) > time.Minute {
			wait.Reset()
		}
		wait.Sleep(ctx)
	}
}

func (h *Hub) listen(ctx context.Context) error {
	pooled, err := h.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	conn := pooled.Hijack() // a listening connection must not return to the pool
	defer conn.Close(context.Background())
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return err
	}
	h.signalAll()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return errors.Join(errors.New("wait for hints"), err)
		}
		from, topics, _ := strings.Cut(n.Payload, " ")
		if from == h.self {
			h.echo(topics)
			continue
		}
		h.mu.Lock()
		for t := range strings.SplitSeq(topics, " ") {
			h.signal(t)
		}
		h.mu.Unlock()
	}
}
