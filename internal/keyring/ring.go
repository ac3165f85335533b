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

// ring knows who is connected by which key, so that one look at all held keys
// serves everybody who holds one. It is safe for concurrent use.
type ring struct {
	mu   sync.Mutex
	held map[uuid.UUID]map[*holder]struct{}
	look chan struct{} // capacity 1
}

type holder struct{ end func(End) }

// newRing makes a ring that nobody holds a key of.
func newRing() *ring {
	return &ring{held: map[uuid.UUID]map[*holder]struct{}{}, look: make(chan struct{}, 1)}
}

// hold notes that somebody is connected by a key, and signals wake. end is
// called at most once and must not block. The caller calls release when the
// connection is gone.
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

// wake is signalled, coalesced, when a key was taken: it may have ended between
// its check and now.
func (r *ring) wake() <-chan struct{} { return r.look }

// keys gives the keys that somebody holds.
func (r *ring) keys() []uuid.UUID {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]uuid.UUID, 0, len(r.held))
	for key := range r.held {
		out = append(out, key)
	}
	return out
}

// end tells everybody who holds a key, and forgets them.
func (r *ring) end(key uuid.UUID, e End) {
	r.mu.Lock()
	holds := r.held[key]
	delete(r.held, key)
	r.mu.Unlock()
	for h := range holds {
		h.end(e)
	}
}
