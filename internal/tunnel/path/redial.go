package path

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/relay"
)

// Typing must flow again within two seconds of a network's return. So attempts to dial
// overlap (a TCP handshake that began in the outage may wait for seconds), waits between
// them stay short, and another link is dialed beside a silent one.
const (
	// overlap is after how long another attempt to dial begins beside the last.
	overlap = 1500 * time.Millisecond
	// maxDials is how many attempts there may be at once.
	maxDials = 4
	// dialLimit bounds all of them together.
	dialLimit  = 30 * time.Second
	watchEvery = 250 * time.Millisecond // links
)

type dialed struct {
	link relay.Link
	err  error
}

// dial dials the relay until one attempt succeeds, all failed, or one failed for good.
// The first attempt may take all the time, because the way may be slow. Of the others,
// a new one replaces the oldest, which may have started in an outage. When the machine
// wakes up, a new one starts at once.
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
	another := func() {
		if len(others) == maxDials-1 {
			others[0]()
			others = others[1:]
		}
		next, stop := context.WithCancel(ctx)
		others = append(others, stop)
		attempt(next)
	}
	woke := p.wakeUp()
	attempt(ctx)
	t := time.NewTicker(overlap * (p.patience.Silence() / relay.LeastSilence))
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
			woke = p.wakeUp()
			t.Reset(overlap)
			another()
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
		if sent := l.waiting.Swap(0); sent != 0 {
			l.p.patience.Answered(l.p.since() - time.Duration(sent))
		}
		return take(m, wait)
	})
}

// watch doubts a link that is silent, until the context ends.
func (l *heardLink) watch(ctx context.Context) {
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if w := time.Duration(l.waiting.Load()); w != 0 && l.p.since()-w > l.p.patience.Silence() {
			l.p.doubt(ctx, l)
			l.waiting.Store(0)
		}
	}
}

// headStart is how long a doubted link may take to answer until another is dialed.
const headStart = 200 * time.Millisecond

// doubt has a link prove that it works, and soon dials another beside it, once. The link
// is closed when the other is there first, or when no answer comes.
func (p *Path) doubt(ctx context.Context, l relay.Link) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := make(chan error, 1)
	began, proof := p.since(), 2*p.patience.Silence()
	go func() {
		ping, stop := context.WithTimeout(ctx, proof)
		defer stop()
		err := l.Ping(ping)
		if err == nil {
			p.patience.Answered(p.since() - began)
		}
		answered <- err
	}()
	other := make(chan dialed, 1)
	go func() {
		select {
		case <-time.After(headStart):
			p.patience.Doubted()
			n, err := p.c.Relay(ctx)
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

// taken returns the link that takes the place of one before; nil without.
func (p *Path) taken() relay.Link {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.spare
	p.spare = nil
	return l
}
