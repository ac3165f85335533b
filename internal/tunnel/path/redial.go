package path

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// Typing is to flow again within two seconds of a network's return, however long
// it was away. So attempts to dial overlap (a TCP handshake that began in the
// outage may wait for seconds until it says hello again), waits between them stay
// short for as long as tunnels outlive an outage, and beside a link on which nothing
// comes back another is dialed long before TCP gives up.
const (
	// overlap is after how long another attempt to dial begins beside the last.
	overlap = 1500 * time.Millisecond
	// maxDials is how many attempts there may be at once.
	maxDials = 4
	// dialLimit bounds all of them together.
	dialLimit = 30 * time.Second
	// unheard is how long after sending something must come back.
	unheard = time.Second
	// watchEvery is how often that is looked at.
	watchEvery = 250 * time.Millisecond
	// slept is by how much the clock on the wall may overtake the time that the
	// process knows of: more is the sleep of a laptop.
	slept = 3 * time.Second
)

type dialed struct {
	link relay.Link
	err  error
}

// dial dials the relay until one attempt succeeds, all that were begun failed,
// or one failed for good. The first attempt may take all the time there is, for
// the way may be slow; of the others the oldest gives way to a new one, for what
// was begun in an outage may never hear of its end.
func (p *Path) dial(ctx context.Context) (relay.Link, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	results := make(chan dialed, maxDials)
	open := 0
	var others []context.CancelFunc
	attempt := func(ctx context.Context) {
		open++
		go func() {
			l, err := p.c.Relay(ctx)
			results <- dialed{l, err}
		}()
	}
	defer func() {
		cancel()
		go func(n int) { // those that were too late
			for range n {
				if r := <-results; r.link != nil {
					r.link.Close(0, "")
				}
			}
		}(open)
	}()
	attempt(ctx)
	t := time.NewTicker(overlap)
	defer t.Stop()
	for {
		select {
		case r := <-results:
			open--
			if r.err == nil || open == 0 || p.c.Final(r.err) {
				return r.link, r.err
			}
		case <-t.C:
			if len(others) == maxDials-1 {
				others[0]()
				others = others[1:]
			}
			next, stop := context.WithCancel(ctx)
			others = append(others, stop)
			attempt(next)
		}
	}
}

// heardLink notes when something was sent that has no answer yet.
type heardLink struct {
	relay.Link
	p       *Path
	waiting atomic.Int64 // since when, as path.since; 0: for nothing
}

// Send notes the sending.
func (l *heardLink) Send(text bool, b []byte) error {
	l.waiting.CompareAndSwap(0, int64(max(1, l.p.since())))
	return l.Link.Send(text, b)
}

// Each notes that the link works.
func (l *heardLink) Each(take relay.Take) error {
	return relay.Each(l.Link, func(m *relay.Message, wait bool) bool {
		l.waiting.Store(0)
		return take(m, wait)
	})
}

// watch has a link prove that it works when that is in doubt, until the context
// ends: nothing came back for what was sent, or the machine slept.
func (l *heardLink) watch(ctx context.Context) {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	wall, mono := time.Now().Round(0), l.p.since()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		now, since := time.Now().Round(0), l.p.since()
		doubt := now.Sub(wall)-(since-mono) > slept
		wall, mono = now, since
		if w := time.Duration(l.waiting.Load()); w != 0 && since-w > unheard {
			doubt = true
		}
		if doubt {
			l.p.doubt(ctx, l)
			l.waiting.Store(0)
		}
	}
}

// proveTimeout is how long a link that is suspected to be dead may take to answer.
const proveTimeout = 2 * time.Second

// headStart is how long it may take until another link is dialed beside it.
const headStart = 200 * time.Millisecond

// doubt has a link prove that it works, and soon dials another beside it: a way that
// is only slow answers before a new connection can be made on it. The link is closed
// when the other is there first, or when no answer comes.
func (p *Path) doubt(ctx context.Context, l relay.Link) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := make(chan error, 1)
	go func() {
		ping, stop := context.WithTimeout(ctx, proveTimeout)
		defer stop()
		answered <- l.Ping(ping)
	}()
	other := make(chan dialed, 1)
	go func() {
		select {
		case <-time.After(headStart):
			n, err := p.dial(ctx)
			other <- dialed{n, err}
		case <-ctx.Done():
			other <- dialed{err: ctx.Err()}
		}
	}()
	select {
	case err := <-answered:
		if err != nil {
			l.Close(0, "")
		}
	case d := <-other:
		if d.err == nil {
			p.replace(l, d.link)
		} else if <-answered != nil {
			l.Close(0, "")
		}
		return
	}
	go func() {
		if d := <-other; d.err == nil {
			d.link.Close(0, "") // too late
		}
	}()
}

// replace closes a link and has another one take its place, if it is still used.
func (p *Path) replace(l, with relay.Link) {
	p.mu.Lock()
	used := p.link == l && p.spare == nil && !p.shut
	if used {
		p.spare = with
	}
	p.mu.Unlock()
	if !used {
		with.Close(0, "")
		return
	}
	l.Close(0, "")
}

// taken gives the link that takes the place of one before; nil without.
func (p *Path) taken() relay.Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.spare
	p.spare = nil
	return l
}
