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
	// endedInterval is the least time between two notifications of one client.
	endedInterval = 200 * time.Millisecond
)

// endings are the sessions that an agent ended while their clients were away, with the
// reasons. The agent notifies a client that returns, because QUIC alone would not answer it.
type endings struct {
	mu        sync.Mutex
	bySession map[relay.Session]*ending
	order     []relay.Session // oldest first
}

type ending struct {
	keys     *probe.Keys
	text     string
	lastSent time.Duration // of the last notification, as Path.elapsed; 0: never
}

func (n *endings) add(s relay.Session, ended *ending) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.bySession == nil {
		n.bySession = map[relay.Session]*ending{}
	}
	if len(n.order) == maxEndings {
		delete(n.bySession, n.order[0])
		n.order = n.order[1:]
	}
	n.bySession[s], n.order = ended, append(n.order, s)
}

// contains reports whether a session is among the remembered ones.
func (n *endings) contains(s relay.Session) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.bySession[s] != nil
}

// takeDue returns the ending of a session, and records the notification, if its client
// must be notified now. Otherwise takeDue returns nil.
func (n *endings) takeDue(s relay.Session, now time.Duration) *ending {
	n.mu.Lock()
	defer n.mu.Unlock()
	ended := n.bySession[s]
	if ended == nil || ended.lastSent != 0 && now-ended.lastSent < endedInterval {
		return nil
	}
	ended.lastSent = max(now, 1)
	return ended
}

// End forgets a session that this end has ended while its client may be away. A client that
// returns receives the text, which is shown to users.
func (p *Path) End(s relay.Session, text string) {
	e := p.forgetPeer(s)
	if e == nil {
		return
	}
	if keys := e.keys.Load(); keys != nil {
		p.ends.add(s, &ending{keys: keys, text: text})
	}
}

// notifyEnded notifies the client of a session that has ended: over the detour via, or over
// the path's own link if via is nil.
func (p *Path) notifyEnded(s relay.Session, via *Detour) {
	ended := p.ends.takeDue(s, p.elapsed())
	if ended == nil {
		return
	}
	p.mu.Lock()
	out := p.out
	p.mu.Unlock()
	if via != nil {
		out = via.up.Out
	}
	if out != nil {
		out.Offer(s, relay.AppendPacket(nil, ended.keys.Seal(probe.Message{Kind: probe.Ended, Text: ended.text}, 0)))
	}
}

// Fail ends the path permanently with a reason.
func (p *Path) Fail(reason error) { p.closeWithError(reason) }

// EndedError is the reason of a client's path that ended because the agent had ended the session.
type EndedError struct{ Text string }

// Error returns the agent's text.
func (e EndedError) Error() string { return e.Text }
