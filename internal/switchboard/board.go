// Package switchboard is the server's part of tunnels: a relay that forwards
// packets between agents and clients without being able to read them, and the
// server's own way to an agent.
//
// Every agent that is connected to this replica has one link here, every
// client one link per tunnel. A client names its agent (the caller of Serve
// has checked that it may reach it) and its session; the board forwards whole
// messages by session, see package tunnel for their form. Packets for a
// session that nobody holds are dropped, as is what a client is too slow to
// take: a slow client must not hold up the others of its agent. What a client
// sends waits, and TCP tells the client so.
//
// Where there are several replicas, a client may come to any of them: one that
// does not hold the agent forwards its messages to the one that does, over one
// link more (hop.go). When the agent has moved, the client's link is closed, and
// it comes again.
//
// For apps, terminals and its own questions the server is itself a client, with
// one warm tunnel per agent in use (dial.go).
//
// A client whose agent is away stays and is told when the agent comes. An
// agent that comes twice is another process of the same workspace, or the same
// one whose old connection has not been missed yet: the latest counts.
package switchboard

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/tracing"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// maxClients bounds the sessions of clients with one agent.
const maxClients = 1000

// placeKept is how long the place of a session is kept after its link broke. A
// client dials again within seconds, on a busy machine later.
const placeKept = 30 * time.Second

// helloTimeout is how long a link may take to say what it is.
const helloTimeout = 15 * time.Second

// Config is what a Board needs.
type Config struct {
	Store     *postgres.Store // for the row of this replica; nil: none is kept
	Replica   Replica
	Authority *tunnel.Authority // for DialAgent
	Log       *slog.Logger
	// Registerer takes the coderd_relay_* metrics; nil: none.
	Registerer prometheus.Registerer
	Now        func() time.Time // nil: time.Now
	Tracer     *tracing.Tracer  // records the server's tunnels to agents; nil records nothing
	// Transport is how other replicas are reached; nil: http.DefaultTransport.
	Transport http.RoundTripper
}

// Board forwards packets between agents and clients. It is a
// lifecycle.Service, safe for concurrent use.
type Board struct {
	c     Config
	beat  lifecycle.Loop
	seek  lifecycle.Loop
	stats stats
	links sync.WaitGroup
	warm  tunnel.Pool
	hops  hops

	mu     sync.Mutex
	closed bool
	hubs   map[uuid.UUID]*hub
	open   map[relay.Link]struct{}
}

// stats are the counters behind the metrics.
type stats struct {
	agents, clients, hops      atomic.Int64
	toAgents, toClients        atomic.Int64 // bytes
	unknown, overflow, offline atomic.Int64 // bytes dropped
}

// New makes a board; Start starts it.
func New(c Config) *Board {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Replica.Hostname == "" {
		c.Replica.Hostname, _ = os.Hostname() // nameless is no reason not to serve
	}
	b := &Board{c: c, hubs: make(map[uuid.UUID]*hub), open: make(map[relay.Link]struct{})}
	b.warm.Dial = b.dialOwn
	b.hops.init(c.Transport)
	b.hops.signer = hopSigner(c)
	b.beat.Run, b.seek.Run = b.heartbeat, b.follow
	if c.Registerer != nil {
		b.stats.register(c.Registerer)
	}
	return b
}

// Start writes the row of this replica and keeps it fresh.
func (b *Board) Start(ctx context.Context) error {
	if b.c.Store == nil {
		return nil
	}
	if err := b.announce(ctx); err != nil {
		return err
	}
	return errors.Join(b.beat.Start(ctx), b.seek.Start(ctx))
}

// Stop closes all links, telling the ends to dial again, which they do with
// whatever replica is up, and waits for them until ctx ends.
func (b *Board) Stop(ctx context.Context) error {
	b.warm.Close()
	b.mu.Lock()
	b.closed = true
	open := make([]relay.Link, 0, len(b.open))
	for l := range b.open {
		open = append(open, l)
	}
	b.mu.Unlock()
	for _, l := range open {
		go l.Close(websocket.StatusGoingAway, "the server is stopping")
	}
	done := make(chan struct{})
	go func() {
		b.links.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = ctx.Err()
		for _, l := range open {
			l.Close(0, "")
		}
	}
	if b.c.Store == nil {
		return err
	}
	return errors.Join(err, b.seek.Stop(ctx), b.beat.Stop(ctx), b.retire(ctx))
}

// Holds reports whether the agent is connected to this replica.
func (b *Board) Holds(agentID uuid.UUID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.hubs[agentID]
	return h != nil && h.agent != nil
}

// Agent serves the WebSocket of an agent until it ends, and closes it.
func (b *Board) Agent(ctx context.Context, agentID uuid.UUID, conn *websocket.Conn) error {
	return b.AgentLink(ctx, agentID, relay.WebSocketLink(conn))
}

// AgentLink is Agent for any link.
func (b *Board) AgentLink(ctx context.Context, agentID uuid.UUID, l relay.Link) error {
	return b.serve(ctx, l, func(m *relay.Message) error {
		instance, err := relay.ParseServe(m)
		m.Release()
		if err != nil {
			return refuse(err)
		}
		b.stats.agents.Add(1)
		defer b.stats.agents.Add(-1)
		return b.serveAgent(ctx, agentID, instance, l)
	})
}

// Client serves the WebSocket of a client to an agent until it ends, and
// closes it. The caller has checked that the client may reach the agent. met,
// unless it is nil, is called each time the client and the agent that it wants
// are both connected, and never after Client has returned; it must not block.
func (b *Board) Client(ctx context.Context, agentID uuid.UUID, conn *websocket.Conn, met func()) error {
	return b.client(ctx, agentID, relay.WebSocketLink(conn), met)
}

// ClientLink is Client for any link, without met.
func (b *Board) ClientLink(ctx context.Context, agentID uuid.UUID, l relay.Link) error {
	return b.client(ctx, agentID, l, nil)
}

func (b *Board) client(ctx context.Context, agentID uuid.UUID, l relay.Link, met func()) error {
	return b.serve(ctx, l, func(m *relay.Message) error {
		defer m.Release()
		session, instance, err := relay.ParseAttach(m)
		if err != nil {
			return refuse(err)
		}
		b.stats.clients.Add(1)
		defer b.stats.clients.Add(-1)
		if far := b.elsewhere(ctx, agentID); far != nil {
			return b.hop(ctx, *far, m, &hop{agentID: agentID, near: l, met: met})
		}
		return b.serveClient(agentID, session, instance, l, met)
	})
}

// refuse marks an error that dialing again does not help.
func refuse(err error) error {
	return codersdk.Errorf(codersdk.CodeInvalid, "The relay refused the connection").WithDetail("%s", err)
}

// serve reads the first message of a link and has the rest served, which
// releases the message.
func (b *Board) serve(ctx context.Context, l relay.Link, rest func(*relay.Message) error) error {
	if !b.enter(l) {
		l.Close(websocket.StatusTryAgainLater, "the server is stopping")
		return codersdk.Errorf(codersdk.CodeUnavailable, "The server is stopping")
	}
	defer b.leave(l)
	defer l.Close(0, "")
	defer context.AfterFunc(ctx, func() { l.Close(0, "") })()
	late := time.AfterFunc(helloTimeout, func() { l.Close(0, "") })
	m, err := l.Receive()
	late.Stop()
	if err != nil {
		return err
	}
	watch, stop := context.WithCancel(ctx)
	defer stop()
	relay.KeepAlive(watch, l)
	err = rest(m)
	if codersdk.Is(err, codersdk.CodeInvalid) {
		l.Close(relay.StatusRefused, err.Error())
	}
	return err
}

func (b *Board) enter(l relay.Link) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.open[l] = struct{}{}
	b.links.Add(1)
	return true
}

func (b *Board) leave(l relay.Link) {
	b.mu.Lock()
	delete(b.open, l)
	b.mu.Unlock()
	b.links.Done()
}
