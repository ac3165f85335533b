package stun

import (
	"net/netip"
	"slices"
	"sync"
	"time"
)

// queryInterval is the least time between two rounds of requests. It is shorter than the
// time after which routers drop an unused mapping, half a minute or more.
const queryInterval = 25 * time.Second

// Addresses holds the public addresses of a socket, as STUN servers see them. It is safe for
// concurrent use. Times are durations on any one monotonic clock.
type Addresses struct {
	updated chan struct{}

	mu        sync.Mutex
	querying  bool // a round of requests is running
	lastQuery time.Duration
	queried   bool // at least one round was started
	pending   map[ID]struct{}
	mapped    map[netip.AddrPort]time.Duration // time of the last response with this address
}

// NewAddresses returns a set without addresses.
func NewAddresses() *Addresses {
	return &Addresses{updated: make(chan struct{}, 1), pending: map[ID]struct{}{}, mapped: map[netip.AddrPort]time.Duration{}}
}

// Updated returns a channel that receives a value after responses have changed the addresses.
func (a *Addresses) Updated() <-chan struct{} { return a.updated }

// AddResponse records a response to a pending request.
func (a *Addresses) AddResponse(id ID, mapped netip.AddrPort, now time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.pending[id]; !ok {
		return
	}
	delete(a.pending, id)
	a.mapped[mapped] = now
	select {
	case a.updated <- struct{}{}:
	default:
	}
}

// List returns the addresses that are not yet outdated, in sorted order.
func (a *Addresses) List(now time.Duration) (all []netip.AddrPort) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for addr, at := range a.mapped {
		if now-at > 2*queryInterval {
			delete(a.mapped, addr)
			continue
		}
		all = append(all, addr)
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return all
}

// StartQuery reports whether a round of requests is due, and records its start if so.
func (a *Addresses) StartQuery(now time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.querying || a.queried && now-a.lastQuery < queryInterval {
		return false
	}
	a.querying, a.queried, a.lastQuery = true, true, now
	return true
}

// EndQuery ends a round of requests. Later responses to them are ignored.
func (a *Addresses) EndQuery() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.querying = false
	clear(a.pending)
}

// NewRequest returns a request, whose response List then includes.
func (a *Addresses) NewRequest() []byte {
	id := NewID()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pending[id] = struct{}{}
	return Request(id)
}
