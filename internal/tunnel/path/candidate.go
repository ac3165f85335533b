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
	// stunInterval is the least time between two rounds of STUN requests. It is shorter
	// than the time after which routers drop an unused mapping, half a minute or more.
	stunInterval = 25 * time.Second
	// stunTimeout bounds the wait for STUN responses.
	stunTimeout = 1500 * time.Millisecond
)

// reflexive holds the public addresses of a socket, as STUN servers see them.
type reflexive struct {
	mu        sync.Mutex
	querying  bool // a round of requests is running
	lastQuery time.Duration
	queried   bool // at least one round was started
	pending   map[stun.ID]struct{}
	mapped    map[netip.AddrPort]time.Duration // time of the last response with this address
	updated   chan struct{}
}

func (r *reflexive) init() {
	r.pending, r.mapped = make(map[stun.ID]struct{}), make(map[netip.AddrPort]time.Duration)
	r.updated = make(chan struct{}, 1)
}

// addResponse records a response to a pending request.
func (r *reflexive) addResponse(id stun.ID, mapped netip.AddrPort, now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.pending[id]; !ok {
		return
	}
	delete(r.pending, id)
	r.mapped[mapped] = now
	select {
	case r.updated <- struct{}{}:
	default:
	}
}

// addresses returns the addresses that are not yet outdated, in sorted order.
func (r *reflexive) addresses(now time.Duration) (all []netip.AddrPort) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for a, at := range r.mapped {
		if now-at > 2*stunInterval {
			delete(r.mapped, a)
			continue
		}
		all = append(all, a)
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return all
}

// startQuery reports whether a round of requests is due, and records its start if so.
func (r *reflexive) startQuery(now time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.querying || r.queried && now-r.lastQuery < stunInterval {
		return false
	}
	r.querying, r.queried, r.lastQuery = true, true, now
	return true
}

func (r *reflexive) endQuery() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.querying = false
	clear(r.pending)
}

func (r *reflexive) newRequest() []byte {
	id := stun.NewID()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending[id] = struct{}{}
	return stun.Request(id)
}

// gatherCandidates passes the addresses of this end to send: the known ones at once, and
// all of them again after each STUN response.
func (d *directSocket) gatherCandidates(send func([]netip.AddrPort)) {
	send(d.candidates())
	if len(d.stun) == 0 || !d.reflexive.startQuery(d.p.elapsed()) {
		return
	}
	go func() {
		defer d.reflexive.endQuery()
		ctx, cancel := context.WithTimeout(d.p.ctx, stunTimeout)
		defer cancel()
		d.queryServers(ctx)
		for {
			select {
			case <-d.reflexive.updated:
				send(d.candidates())
			case <-ctx.Done():
				return
			}
		}
	}()
}

// queryServers sends a request to every STUN server, by IPv4 and by IPv6.
func (d *directSocket) queryServers(ctx context.Context) {
	for _, server := range d.stun {
		go func() {
			for _, to := range udp.Resolve(ctx, server) {
				_ = d.sock.Write(d.reflexive.newRequest(), 0, to) // a failed write is like a lost request
			}
		}()
	}
}

// candidates returns the known addresses of this end, at most probe.MaxCandidates.
func (d *directSocket) candidates() (all []netip.AddrPort) {
	for _, a := range d.local() {
		all = append(all, netip.AddrPortFrom(a, d.sock.Port()))
	}
	for _, a := range d.reflexive.addresses(d.p.elapsed()) {
		if !slices.Contains(all, a) {
			all = append(all, a)
		}
	}
	return all[:min(len(all), probe.MaxCandidates)]
}
