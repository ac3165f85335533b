package keyring

import (
	"sync"

	"github.com/google/uuid"
)

// End is the end of a key.
type End struct {
	// Revoked is true for a key that was deleted, false for one that expired.
	Revoked bool
	Why     string // a clause for users
}

// ring tracks the connections by key, so that one check of all held keys serves all connections. It is
// safe for concurrent use.
type ring struct {
	mu   sync.Mutex
	held map[uuid.UUID]map[*holder]struct{}
	look chan struct{} // capacity 1
}

type holder struct{ end func(End) }

// newRing returns an empty ring.
func newRing() *ring {
	return &ring{held: map[uuid.UUID]map[*holder]struct{}{}, look: make(chan struct{}, 1)}
}

// hold records a connection that uses a key, and signals wake. end is called at most once and must not
// block. The caller calls release when the connection ends.
func (r *ring) hold(key uuid.UUID, end func(End)) (release func()) {
	h := &holder{end}
	r.mu.Lock()
	if r.held[key] == nil {
		r.held[key] = map[*holder]struct{}{}
	}
	r.held[key][h] = struct{}{}
	r.mu.Unlock()
	select {
	case r.look <- struct{}{}:
	default:
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.held[key], h)
		if len(r.held[key]) == 0 {
			delete(r.held, key)
		}
	}
}

// wake is signaled, coalesced, when a key is held: it may have ended since it was checked.
func (r *ring) wake() <-chan struct{} { return r.look }

// keys returns the held keys.
func (r *ring) keys() []uuid.UUID {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]uuid.UUID, 0, len(r.held))
	for key := range r.held {
		out = append(out, key)
	}
	return out
}

// end calls the end functions of a key's connections and removes them.
func (r *ring) end(key uuid.UUID, e End) {
	r.mu.Lock()
	holds := r.held[key]
	delete(r.held, key)
	r.mu.Unlock()
	for h := range holds {
		h.end(e)
	}
}
