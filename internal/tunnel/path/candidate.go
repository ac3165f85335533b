package path

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/tunnel/probe"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/stun"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel/udp"
)

const (
	// stunFresh is how long an answer of STUN counts: routers forget a mapping
	// that is not used after half a minute or more.
	stunFresh = 25 * time.Second
	// stunWait is how long answers are waited for.
	stunWait = 1500 * time.Millisecond
)

// reflexive is what STUN said of a socket.
type reflexive struct {
	mu      sync.Mutex
	asking  bool
	asked   time.Duration
	before  bool // asked once at least
	pending map[stun.ID]struct{}
	mapped  map[netip.AddrPort]time.Duration // when
	news    chan struct{}
}

func (r *reflexive) init() {
	r.pending, r.mapped = make(map[stun.ID]struct{}), make(map[netip.AddrPort]time.Duration)
	r.news = make(chan struct{}, 1)
}

// answered notes an answer to a question of ours.
func (r *reflexive) answered(id stun.ID, mapped netip.AddrPort, now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.pending[id]; !ok {
		return
	}
	delete(r.pending, id)
	r.mapped[mapped] = now
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// addresses returns what counts now.
func (r *reflexive) addresses(now time.Duration) (all []netip.AddrPort) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for a, at := range r.mapped {
		if now-at > 2*stunFresh {
			delete(r.mapped, a)
			continue
		}
		all = append(all, a)
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return all
}

// begin reports whether it is time to ask, and notes that the caller does.
func (r *reflexive) begin(now time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking || r.before && now-r.asked < stunFresh {
		return false
	}
	r.asking, r.before, r.asked = true, true, now
	return true
}

func (r *reflexive) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asking = false
	clear(r.pending)
}

func (r *reflexive) question() []byte {
	id := stun.NewID()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending[id] = struct{}{}
	return stun.Request(id)
}

// gather sends the addresses of this end: at once what is known, and again
// when STUN answers.
func (d *directs) gather(tell func([]netip.AddrPort)) {
	tell(d.candidates())
	if len(d.stun) == 0 || !d.reflexive.begin(d.p.since()) {
		return
	}
	go func() {
		defer d.reflexive.end()
		ctx, cancel := context.WithTimeout(d.p.ended, stunWait)
		defer cancel()
		d.ask(ctx)
		for {
			select {
			case <-d.reflexive.news:
				tell(d.candidates())
			case <-ctx.Done():
				return
			}
		}
	}()
}

// ask sends a question to every STUN server, twice in case one is lost.
func (d *directs) ask(ctx context.Context) {
	for _, server := range d.stun {
		go func() {
			for _, to := range udp.Resolve(ctx, server) {
				_ = d.sock.Write(d.reflexive.question(), 0, to) // no answer says enough
			}
		}()
	}
}

// candidates returns where this end may be reached, as far as is known.
func (d *directs) candidates() (all []netip.AddrPort) {
	for _, a := range d.local() {
		all = append(all, netip.AddrPortFrom(a, d.sock.Port()))
	}
	for _, a := range d.reflexive.addresses(d.p.since()) {
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all[:min(len(all), probe.MaxCandidates)]
}
