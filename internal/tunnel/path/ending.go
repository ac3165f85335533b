package path

import (
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/probe"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

const (
	// maxEndings bounds the sessions whose ends an agent remembers; about 2 KB each.
	maxEndings = 1024
	// tellEvery is the least time between two reports of an end to one client.
	tellEvery = 200 * time.Millisecond
)

// endings are the sessions that an agent ended while their clients were away, with the
// reasons. The agent notifies a client that returns: QUIC alone would leave it without an answer.
type endings struct {
	mu    sync.Mutex
	by    map[relay.Session]*ending
	order []relay.Session // the oldest first
}

type ending struct {
	keys *probe.Keys
	text string
	told time.Duration // as path.since; 0: never
}

func (n *endings) add(s relay.Session, one *ending) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.by == nil {
		n.by = map[relay.Session]*ending{}
	}
	if len(n.order) == maxEndings {
		delete(n.by, n.order[0])
		n.order = n.order[1:]
	}
	n.by[s], n.order = one, append(n.order, s)
}

// knows reports whether a session was ended.
func (n *endings) knows(s relay.Session) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.by[s] != nil
}

// due returns the ending of a session if its client is to be told now, else nil.
func (n *endings) due(s relay.Session, now time.Duration) *ending {
	n.mu.Lock()
	defer n.mu.Unlock()
	one := n.by[s]
	if one == nil || one.told != 0 && now-one.told < tellEvery {
		return nil
	}
	one.told = max(now, 1)
	return one
}

// End is Forget for a session that this end has ended while its client may be away. A
// client that returns receives the text, which is for users.
func (p *Path) End(s relay.Session, text string) {
	e := p.forget(s)
	if e == nil {
		return
	}
	if keys := e.keys.Load(); keys != nil {
		p.ends.add(s, &ending{keys: keys, text: text})
	}
}

// tellEnd informs the client of a session that has ended. The client came by a detour, or
// by the path's own link for nil.
func (p *Path) tellEnd(s relay.Session, via *Detour) {
	one := p.ends.due(s, p.since())
	if one == nil {
		return
	}
	p.mu.Lock()
	out := p.out
	p.mu.Unlock()
	if via != nil {
		out = via.up.Out
	}
	if out != nil {
		out.Offer(s, relay.AppendPacket(nil, one.keys.Seal(probe.Message{Kind: probe.Ended, Text: one.text}, 0)))
	}
}

// Fail ends the path for good with a reason.
func (p *Path) Fail(reason error) { p.end(reason) }

// EndedError is why a client's path ended: the agent had ended the session.
type EndedError struct{ Text string }

// Error returns the agent's text.
func (e EndedError) Error() string { return e.Text }
