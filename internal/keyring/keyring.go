// Package keyring knows who is connected by which key, and tells them when a
// key ends, so that one look at all held keys serves everybody who holds one.
package keyring

import (
	"sync"

	"github.com/google/uuid"
)

// End says that a key is not good any more.
type End struct {
	// Revoked is true for a key that was deleted, false for one that expired.
	Revoked bool
	Why     string // a clause for people
}

// Ring is safe for concurrent use.
type Ring struct {
	mu   sync.Mutex
	held map[uuid.UUID]map[*hold]struct{}
	look chan struct{} // capacity 1
}

type hold struct{ end func(End) }

// New makes a ring that nobody holds a key of.
func New() *Ring {
	return &Ring{held: map[uuid.UUID]map[*hold]struct{}{}, look: make(chan struct{}, 1)}
}

// Hold notes that somebody is connected by a key, and signals Look. end is
// called at most once and must not block. The caller calls release when the
// connection is gone.
func (r *Ring) Hold(key uuid.UUID, end func(End)) (release func()) {
	h := &hold{end}
	r.mu.Lock()
	if r.held[key] == nil {
		r.held[key] = map[*hold]struct{}{}
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

// Look is signalled, coalesced, when a key was taken: it may have ended between
// its check and now.
func (r *Ring) Look() <-chan struct{} { return r.look }

// Keys gives the keys that somebody holds.
func (r *Ring) Keys() []uuid.UUID {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]uuid.UUID, 0, len(r.held))
	for key := range r.held {
		out = append(out, key)
	}
	return out
}

// End tells everybody who holds a key, and forgets them.
func (r *Ring) End(key uuid.UUID, e End) {
	r.mu.Lock()
	holds := r.held[key]
	delete(r.held, key)
	r.mu.Unlock()
	for h := range holds {
		h.end(e)
	}
}
