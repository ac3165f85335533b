package switchboard

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/replicatoken"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

const (
	// HopPath is where a replica takes links of clients from other replicas,
	// followed by the agent.
	HopPath = "/api/v2/replicas/relay/"
	// HopHeader carries the proof of the replica that dials (see HopToken).
	HopHeader = replicatoken.Header

	// followInterval is how often clients whose agent is away are looked up: a
	// part of the two seconds after which typing is to flow again.
	followInterval = 500 * time.Millisecond
	// avoidFor is how long a replica that did not answer is not tried again.
	avoidFor = 3 * time.Second
	// hopDial bounds the dialing of another replica.
	hopDial = 5 * time.Second
)

// hops are the clients here whose agents are with other replicas.
type hops struct {
	client *http.Client
	mu     sync.Mutex
	open   map[*hop]struct{}
	avoid  map[uuid.UUID]time.Time // replicas that did not answer, and until when
	signer *replicatoken.Signer    // of tokens; nil without an authority
}

func (h *hops) init(through http.RoundTripper) {
	h.client = &http.Client{Transport: through}
	h.open, h.avoid = make(map[*hop]struct{}), make(map[uuid.UUID]time.Time)
}

// hop is one such client.
type hop struct {
	agentID uuid.UUID
	near    relay.Link
	met     func() // see Client; nil: nobody asks
	offline bool   // the other replica says that the agent is away; guarded by hops.mu
}

// find returns where agents are, of those that are with other replicas that live.
func (b *Board) find(ctx context.Context, agents ...uuid.UUID) ([]sqlc.RelayFindRow, error) {
	if b.c.Store == nil || len(agents) == 0 {
		return nil, nil
	}
	rows, err := b.c.Store.RelayFind(ctx, agents, b.c.Replica.ID, b.c.Now().Add(-beatLimit))
	if err != nil {
		return nil, err
	}
	b.hops.mu.Lock()
	defer b.hops.mu.Unlock()
	reachable := rows[:0]
	for _, r := range rows {
		if until, ok := b.hops.avoid[r.ReplicaID]; !ok || b.c.Now().After(until) {
			delete(b.hops.avoid, r.ReplicaID)
			reachable = append(reachable, r)
		}
	}
	return reachable, nil
}

// elsewhere returns the other replica that an agent is with and that can be
// reached; nil when it is here or nowhere.
func (b *Board) elsewhere(ctx context.Context, agentID uuid.UUID) *sqlc.RelayFindRow {
	if b.Holds(agentID) {
		return nil
	}
	rows, err := b.find(ctx, agentID)
	if err != nil {
		b.c.Log.WarnContext(ctx, "could not look up the replica of an agent", "agent_id", agentID, "error", err)
	}
	if err != nil || len(rows) == 0 || rows[0].RelayAddress == "" {
		return nil
	}
	return &rows[0]
}

// Elsewhere reports why an agent cannot be reached from here although it is
// connected: it is with another replica, which has no address for others. It
// gives nil when the agent can be reached, or is nowhere.
func (b *Board) Elsewhere(ctx context.Context, agentID uuid.UUID) error {
	if b.Holds(agentID) {
		return nil
	}
	rows, err := b.find(ctx, agentID)
	if err != nil || len(rows) == 0 || rows[0].RelayAddress != "" {
		return err
	}
	return codersdk.Errorf(codersdk.CodeUnavailable,
		"The agent is connected to another server of this deployment, %s, which has no address for other servers", rows[0].Hostname).
		WithDetail("start each server with --derp-server-relay-url, at which the others reach it")
}

// hop forwards the messages of a client to the replica that holds its agent,
// until one of the two links ends.
func (b *Board) hop(ctx context.Context, to sqlc.RelayFindRow, hello *relay.Message, h *hop) error {
	near := h.near
	far, err := b.dialReplica(ctx, h.agentID, to)
	if err == nil {
		err = far.Send(true, hello.Data)
	}
	if err != nil {
		b.hops.mu.Lock()
		b.hops.avoid[to.ReplicaID] = b.c.Now().Add(avoidFor)
		b.hops.mu.Unlock()
		b.c.Log.WarnContext(ctx, "another replica does not answer", "replica", to.Hostname, "address", to.RelayAddress, "error", err)
		near.Close(websocket.StatusGoingAway, "the server that the agent is with does not answer")
		return err
	}
	b.hops.mu.Lock()
	b.hops.open[h] = struct{}{}
	b.hops.mu.Unlock()
	b.stats.hops.Add(1)
	defer func() {
		b.stats.hops.Add(-1)
		b.hops.mu.Lock()
		delete(b.hops.open, h)
		b.hops.mu.Unlock()
	}()
	watch, stop := context.WithCancel(ctx)
	defer stop()
	relay.KeepAlive(watch, far)
	var back sync.WaitGroup
	back.Go(func() { b.hopBack(h, far) })
	for {
		m, err := near.Receive()
		if err == nil {
			err = far.Send(m.Text, m.Data)
			m.Release()
		}
		if err != nil {
			far.Close(0, "")
			back.Wait()
			return err
		}
	}
}

// hopBack forwards what the other replica sends, and how it ends.
func (b *Board) hopBack(h *hop, far relay.Link) {
	for {
		m, err := far.Receive()
		if err != nil {
			code, reason := websocket.CloseStatus(err), ""
			if code != relay.StatusRestarted && code != relay.StatusRefused {
				code, reason = websocket.StatusGoingAway, "the server that the agent was with has gone"
			}
			far.Close(0, "")
			h.near.Close(code, reason)
			return
		}
		if m.Text {
			b.hops.mu.Lock()
			h.offline = string(m.Data) == relay.TextOffline
			b.hops.mu.Unlock()
			if h.met != nil && string(m.Data) == relay.TextOnline {
				h.met()
			}
		}
		err = h.near.Send(m.Text, m.Data)
		m.Release()
		if err != nil {
			far.Close(0, "")
			h.near.Close(0, "")
			return
		}
	}
}

func (b *Board) dialReplica(ctx context.Context, agentID uuid.UUID, to sqlc.RelayFindRow) (relay.Link, error) {
	ctx, cancel := context.WithTimeout(ctx, hopDial)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, strings.TrimRight(to.RelayAddress, "/")+HopPath+agentID.String(), &websocket.DialOptions{
		HTTPClient: relay.HTTPClient(b.hops.client), HTTPHeader: http.Header{HopHeader: {b.hopToken(to.ReplicaID, agentID)}},
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, err
	}
	return relay.WebSocketLink(conn), nil
}

// Hop serves the WebSocket of another replica, for one of its clients, until
// it ends, and closes it. The caller has checked the token with AdmitHop. What
// comes by a hop is not sent on by another.
func (b *Board) Hop(ctx context.Context, agentID uuid.UUID, conn *websocket.Conn) error {
	l := relay.WebSocketLink(conn)
	return b.serve(ctx, l, func(m *relay.Message) error {
		session, instance, err := relay.ParseAttach(m)
		m.Release()
		if err != nil {
			return refuse(err)
		}
		return b.serveClient(agentID, session, instance, l, nil)
	})
}

// follow looks up the agents that clients wait for here, and sends the clients
// of those that came elsewhere off, to come again.
func (b *Board) follow(ctx context.Context) {
	lifecycle.Every(ctx, followInterval, func(ctx context.Context) {
		waiting := b.waiting()
		agents := make([]uuid.UUID, 0, len(waiting))
		for id := range waiting {
			if b.Holds(id) { // a hop whose agent came here
				dismissAll(waiting[id])
			} else {
				agents = append(agents, id)
			}
		}
		rows, err := b.find(ctx, agents...)
		if err != nil {
			return // the next round asks again
		}
		for _, r := range rows {
			if r.RelayAddress != "" {
				dismissAll(waiting[r.AgentID])
			}
		}
	})
}

func dismissAll(links []relay.Link) {
	for _, l := range links {
		go l.Close(websocket.StatusGoingAway, "the agent moved to another server")
	}
}

// waiting returns the links of clients whose agents are away, by agent.
func (b *Board) waiting() map[uuid.UUID][]relay.Link {
	out := make(map[uuid.UUID][]relay.Link)
	b.mu.Lock()
	for id, h := range b.hubs {
		if h.agent != nil {
			continue
		}
		h.mu.RLock()
		for _, e := range h.sessions {
			out[id] = append(out[id], e.link)
		}
		h.mu.RUnlock()
	}
	b.mu.Unlock()
	b.hops.mu.Lock()
	for h := range b.hops.open {
		if h.offline {
			out[h.agentID] = append(out[h.agentID], h.near)
		}
	}
	b.hops.mu.Unlock()
	return out
}
