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
	// maxPayload is under PostgreSQL's limit of 8000 bytes for one NOTIFY.
	maxPayload = 7900
	// gather is how long after a NOTIFY topics are collected before the next:
	// notifying commits one after the other, so fewer is faster.
	gather = 2 * time.Millisecond
	// tell need not wait for the disk: a hint that a crash of the database
	// takes with it concerns connections that the crash took too.
	tell = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)"
)

// Hub is one server's end. It is safe for concurrent use.
type Hub struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	self string // marks our own hints, which local subscribers had already

	mu     sync.Mutex
	subs   map[string]map[chan struct{}]struct{}
	outbox map[string]struct{}
	kick   chan struct{}

	group lifecycle.Group
}

// New makes a hub over the pool, which it uses for one LISTEN connection of
// its own and for short NOTIFYs. Publish and Subscribe work at once, among
// themselves; other replicas are reached from Start on.
func New(pool *pgxpool.Pool, log *slog.Logger) *Hub {
	return &Hub{
		pool: pool, log: log, self: randomID(),
		subs: map[string]map[chan struct{}]struct{}{}, outbox: map[string]struct{}{}, kick: make(chan struct{}, 1),
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

// Start begins to listen and to send. It does not wait for the connection.
func (h *Hub) Start(ctx context.Context) error {
	return h.group.Start(ctx,
		lifecycle.Named{Name: "hint listener", Service: &lifecycle.Loop{Run: h.listenForEver}},
		lifecycle.Named{Name: "hint sender", Service: &lifecycle.Loop{Run: h.send}},
	)
}

// Stop sends what waits and ends both.
func (h *Hub) Stop(ctx context.Context) error { return h.group.Stop(ctx) }

// Publish tells everybody who subscribed to one of the topics to look again:
// here at once, on other replicas shortly. Call it after the commit. It does
// not block and cannot fail; a hint that is lost is made up for by the
// subscribers' own polling.
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

// PublishHere tells the subscribers of this server alone.
func (h *Hub) PublishHere(topics ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		h.signal(t)
	}
}

// Subscribe gives a channel that is signalled, coalesced, whenever one of the
// topics changed or may have, and a function that ends the subscription. A kind
// alone, such as "workspace", stands for every topic of that kind.
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

// signal is called with the lock held.
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
		default: // it has not looked yet; one look is enough
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

// send empties the outbox, many topics to a NOTIFY.
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
		// The first hint goes at once, and what comes meanwhile together.
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
			h.log.Warn("hints to other replicas were lost; they will poll", "error", err)
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

// listenForEver keeps a LISTEN connection. After each new connection everybody
// looks again, since hints sent meanwhile are gone.
func (h *Hub) listenForEver(ctx context.Context) {
	wait := 50 * time.Millisecond
	for ctx.Err() == nil {
		start := time.Now()
		err := h.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		h.log.Warn("the connection for hints was lost; connecting again", "error", err)
		if time.Since(start) > time.Minute {
			wait = 50 * time.Millisecond
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait)):
		}
		wait = min(2*wait, 5*time.Second)
	}
}

func (h *Hub) listen(ctx context.Context) error {
	pooled, err := h.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	conn := pooled.Hijack() // it listens from now on and may not go back
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
			continue
		}
		h.mu.Lock()
		for t := range strings.SplitSeq(topics, " ") {
			h.signal(t)
		}
		h.mu.Unlock()
	}
}
