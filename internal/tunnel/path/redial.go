package path

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// Keystrokes must be echoed again within two seconds of a network's return. So dial attempts
// overlap, because a TCP handshake that began in the outage may wait for seconds. Waits
// between attempts stay short, and another link is dialed beside a silent one.
const (
	// redialInterval is the time after which another dial attempt starts beside the last.
	redialInterval = 1500 * time.Millisecond
	// maxDials bounds the dial attempts at one time.
	maxDials = 4
	// dialTimeout bounds all attempts of one call of dial together.
	dialTimeout = 30 * time.Second
	// watchInterval is the interval between checks of the link, and of the clocks.
	watchInterval = 250 * time.Millisecond
)

type dialResult struct {
	link relay.Link
	err  error
}

// dial dials the relay until one attempt succeeds, all have failed, or one has failed with
// a final error. The first attempt may take until dialTimeout, because the path may be slow.
// Of the other attempts, a new one replaces the oldest, which may have started in an outage.
// When the machine wakes up, a new attempt starts at once.
func (p *Path) dial(ctx context.Context) (relay.Link, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	results := make(chan dialResult, maxDials)
	open := 0
	var others []context.CancelFunc
	attempt := func(ctx context.Context) {
		open++
		go func() {
			l, err := p.c.Relay(ctx)
			results <- dialResult{l, err}
		}()
	}
	defer func() {
		cancel()
		go func(n int) { // close the links of attempts that were too late
			for range n {
				if r := <-results; r.link != nil {
					r.link.Close(0, "")
				}
			}
		}(open)
	}()
	another := func() {
		if len(others) == maxDials-1 {
			others[0]()
			others = others[1:]
		}
		next, stop := context.WithCancel(ctx)
		others = append(others, stop)
		attempt(next)
	}
	woke := p.wakeChannel()
	attempt(ctx)
	t := time.NewTicker(redialInterval * (p.patience.Silence() / relay.LeastSilence))
	defer t.Stop()
	for {
		select {
		case r := <-results:
			open--
			if r.err == nil || open == 0 || p.c.Final(r.err) {
				return r.link, r.err
			}
		case <-t.C:
			another()
		case <-woke:
			woke = p.wakeChannel()
			t.Reset(redialInterval)
			another()
		}
	}
}

// watchedLink is a link that records since when it has sent messages without receiving any.
type watchedLink struct {
	relay.Link
	p          *Path
	unanswered atomic.Int64 // when the first unanswered message was sent, as Path.elapsed; 0: none
}

// Send sends a message and records that an answer is expected.
func (l *watchedLink) Send(text bool, b []byte) error {
	l.unanswered.CompareAndSwap(0, int64(max(1, l.p.elapsed())))
	return l.Link.Send(text, b)
}

// Each passes received messages to take, and records that the link works.
func (l *watchedLink) Each(take relay.Take) error {
	return relay.Each(l.Link, func(m *relay.Message, wait bool) bool {
		if sent := l.unanswered.Swap(0); sent != 0 {
			l.p.patience.Answered(l.p.elapsed() - time.Duration(sent))
		}
		return take(m, wait)
	})
}

// watch checks the link with checkLink whenever it is silent, until the context ends.
func (l *watchedLink) watch(ctx context.Context) {
	t := time.NewTicker(watchInterval)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if w := time.Duration(l.unanswered.Load()); w != 0 && l.p.elapsed()-w > l.p.patience.Silence() {
			l.p.checkLink(ctx, l)
			l.unanswered.Store(0)
		}
	}
}

// headStart is how long a link that is checked may take to answer before another is dialed.
const headStart = 200 * time.Millisecond

// checkLink pings a link, and dials another link once if no answer comes within headStart.
// The checked link is closed when the other is up first, or when the ping fails.
func (p *Path) checkLink(ctx context.Context, l relay.Link) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := make(chan error, 1)
	began, proof := p.elapsed(), 2*p.patience.Silence()
	go func() {
		ping, stop := context.WithTimeout(ctx, proof)
		defer stop()
		err := l.Ping(ping)
		if err == nil {
			p.patience.Answered(p.elapsed() - began)
		}
		answered <- err
	}()
	other := make(chan dialResult, 1)
	go func() {
		select {
		case <-time.After(headStart):
			p.patience.Doubted()
			n, err := p.c.Relay(ctx)
			other <- dialResult{n, err}
		case <-ctx.Done():
			other <- dialResult{err: ctx.Err()}
		}
	}()
	select {
	case err := <-answered:
		if err != nil {
			l.Close(0, "")
		}
	case d := <-other:
		if d.err == nil {
			p.replaceLink(l, d.link)
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

// replaceLink closes a link and puts another in its place, if the link is still in use.
// Otherwise it closes the other.
func (p *Path) replaceLink(l, with relay.Link) {
	p.mu.Lock()
	used := p.link == l && p.spare == nil && !p.isClosed
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

// takeSpareLink returns the link that replaces the previous one, or nil without such a link.
func (p *Path) takeSpareLink() relay.Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.spare
	p.spare = nil
	return l
}
