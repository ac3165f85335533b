package switchboard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// hub is an agent and its clients. It exists while there is one of them; its
// fields are guarded by Board.mu but sessions, which every packet needs.
type hub struct {
	agent   *end // nil while the agent is away
	clients int  // links of clients, replaced ones included until they have ended

	// left are the sessions whose link broke without a goodbye, and when: a session
	// that dials again finds its place.
	left map[relay.Session]time.Time

	mu       sync.RWMutex
	sessions map[relay.Session]*end
	target   *end // the agent again
}

// end is a link with what waits for it.
type end struct {
	link     relay.Link
	out      *relay.Outbox
	instance relay.Instance // that it is (agent), that it wants (client)

	met func() // of clients only: called under Board.mu when the agent is connected; nil: nobody asks

	// gone: the session of this link does not return, so its place is free.
	gone atomic.Bool

	// Of agents only: the link's name in the database, and whether it is there.
	id   uuid.UUID
	held atomic.Bool
}

func newEnd(l relay.Link, i relay.Instance) *end {
	e := &end{link: l, out: relay.NewOutbox(), instance: i, id: uuid.New()}
	go func() {
		if e.out.Drain(l) != nil {
			l.Close(0, "")
		}
	}()
	return e
}

// dismiss closes a link without waiting for its other side.
func (e *end) dismiss(code websocket.StatusCode, reason string) {
	e.out.Close()
	go e.link.Close(code, reason)
}

// hub returns the hub of an agent. The caller holds b.mu.
func (b *Board) hub(agentID uuid.UUID) *hub {
	h := b.hubs[agentID]
	if h == nil {
		h = &hub{sessions: make(map[relay.Session]*end), left: make(map[relay.Session]time.Time)}
		b.hubs[agentID] = h
	}
	return h
}

// tidy drops a hub that nobody needs. The caller holds b.mu.
func (b *Board) tidy(agentID uuid.UUID, h *hub) {
	if h.agent == nil && h.clients == 0 {
		delete(b.hubs, agentID)
	}
}

// serveAgent forwards what an agent sends.
func (b *Board) serveAgent(ctx context.Context, agentID uuid.UUID, instance relay.Instance, l relay.Link) error {
	e := newEnd(l, instance)
	defer e.out.Close()
	b.mu.Lock()
	h := b.hub(agentID)
	old := h.agent
	h.agent = e
	h.mu.Lock()
	h.target = e
	for s, c := range h.sessions {
		b.meet(s, e, c)
	}
	h.mu.Unlock()
	b.mu.Unlock()
	if old != nil {
		old.dismiss(websocket.StatusGoingAway, "a newer connection of the agent took over")
	}
	b.hold(ctx, agentID, e)
	defer b.release(agentID, e)
	defer b.agentLeft(agentID, h, e)
	return relay.Each(l, func(m *relay.Message, _ bool) bool {
		b.toClient(h, m)
		m.Release()
		return true
	})
}

// meet introduces an agent and a client to one another, or the client that its
// agent is no more.
func (b *Board) meet(s relay.Session, agent, client *end) {
	if client.instance != agent.instance {
		client.gone.Store(true)
		client.dismiss(relay.StatusRestarted, "the agent was restarted")
		return
	}
	client.out.Text(relay.TextOnline)
	agent.out.Text(relay.TextAttached(s))
	if client.met != nil {
		client.met()
	}
}

func (b *Board) agentLeft(agentID uuid.UUID, h *hub, e *end) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.agent != e {
		return
	}
	h.agent = nil
	h.mu.Lock()
	h.target = nil
	for _, c := range h.sessions {
		c.out.Text(relay.TextOffline)
	}
	h.mu.Unlock()
	b.tidy(agentID, h)
}

// toClient forwards one message of an agent.
func (b *Board) toClient(h *hub, m *relay.Message) {
	s, packets, err := m.Session()
	if err != nil {
		return
	}
	h.mu.RLock()
	c := h.sessions[s]
	h.mu.RUnlock()
	switch n := int64(len(packets)); {
	case c == nil:
		b.stats.unknown.Add(n)
	case c.out.Offer(s, packets):
		b.stats.toClients.Add(n)
	default:
		b.stats.overflow.Add(n)
	}
}

// serveClient forwards what a client sends.
func (b *Board) serveClient(agentID uuid.UUID, s relay.Session, instance relay.Instance, l relay.Link, met func()) error {
	e := newEnd(l, instance)
	e.met = met
	defer e.out.Close()
	b.mu.Lock()
	h := b.hub(agentID)
	if !h.admit(s, b.c.Now()) {
		b.tidy(agentID, h)
		b.mu.Unlock()
		return codersdk.Errorf(codersdk.CodeInvalid, "Too many connections to this agent: close some of the %d that are open", maxClients)
	}
	h.clients++
	h.mu.Lock()
	old := h.sessions[s]
	h.sessions[s] = e
	h.mu.Unlock()
	if h.agent != nil {
		b.meet(s, h.agent, e)
	} else {
		e.out.Text(relay.TextOffline)
	}
	b.mu.Unlock()
	if old != nil {
		old.dismiss(websocket.StatusGoingAway, "a newer connection of the client took over")
	}
	defer b.clientLeft(agentID, h, s, e)
	return relay.Each(l, func(m *relay.Message, _ bool) bool {
		if m.Text && string(m.Data) == relay.TextDetach {
			e.gone.Store(true)
		} else {
			b.toAgent(h, s, m)
		}
		m.Release()
		return true
	})
}

// admit reports whether a client of a session may have a link, and takes the place
// that the session left. Every session counts once: a link that replaces another,
// and a link that broke less than placeKept ago, need no second place. The caller
// holds b.mu.
func (h *hub) admit(s relay.Session, now time.Time) bool {
	h.mu.RLock()
	_, connected := h.sessions[s]
	links := len(h.sessions)
	h.mu.RUnlock()
	if _, left := h.left[s]; left {
		delete(h.left, s)
		return true
	}
	if connected || links+len(h.left) < maxClients {
		return true
	}
	for other, since := range h.left {
		if now.Sub(since) > placeKept {
			delete(h.left, other)
		}
	}
	return links+len(h.left) < maxClients
}

// toAgent forwards one message of a client, which may not speak for another.
func (b *Board) toAgent(h *hub, s relay.Session, m *relay.Message) {
	claimed, packets, err := m.Session()
	if err != nil {
		return
	}
	n := int64(len(packets))
	if claimed != s {
		b.stats.unknown.Add(n)
		return
	}
	h.mu.RLock()
	agent := h.target
	h.mu.RUnlock()
	if agent != nil && agent.out.Forward(m) {
		b.stats.toAgents.Add(n)
	} else {
		b.stats.offline.Add(n)
	}
}

func (b *Board) clientLeft(agentID uuid.UUID, h *hub, s relay.Session, e *end) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h.clients--
	h.mu.Lock()
	if h.sessions[s] == e {
		delete(h.sessions, s)
		if !e.gone.Load() {
			h.left[s] = b.c.Now()
		}
	}
	h.mu.Unlock()
	b.tidy(agentID, h)
}
