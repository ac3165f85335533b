package queue

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/notify"
)

// KeyEnd says that a key is not good any more.
type KeyEnd struct {
	// Revoked is true for a key that was deleted, false for one that expired.
	Revoked bool
	Why     string // a sentence for people
}

// keyring knows who is here by which key, and tells them when it ends. One
// query serves all of them: when a key was deleted or replaced somewhere, when
// the next of them expires, and with every heartbeat.
type keyring struct {
	mu   sync.Mutex
	held map[uuid.UUID]map[*keyHold]struct{}
	look chan struct{} // capacity 1
}

type keyHold struct{ end func(KeyEnd) }

func newKeyring() *keyring {
	return &keyring{held: map[uuid.UUID]map[*keyHold]struct{}{}, look: make(chan struct{}, 1)}
}

// HoldKey notes that somebody is connected by a key. end is called once, soon
// after the key has expired or was deleted; it must not block. Reserved keys
// never end. The caller calls release when the connection is gone.
func (s *Service) HoldKey(id uuid.UUID, end func(KeyEnd)) (release func()) {
	if keyName(id, "") != "" {
		return func() {}
	}
	r, h := s.keys, &keyHold{end}
	r.mu.Lock()
	if r.held[id] == nil {
		r.held[id] = map[*keyHold]struct{}{}
	}
	r.held[id][h] = struct{}{}
	r.mu.Unlock()
	select {
	case r.look <- struct{}{}: // it may have ended since the admission
	default:
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.held[id], h)
		if len(r.held[id]) == 0 {
			delete(r.held, id)
		}
	}
}

func (r *keyring) ids() []uuid.UUID {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]uuid.UUID, 0, len(r.held))
	for id := range r.held {
		out = append(out, id)
	}
	return out
}

// end tells everybody who is here by a key, and forgets them.
func (r *keyring) end(id uuid.UUID, e KeyEnd) {
	r.mu.Lock()
	holds := r.held[id]
	delete(r.held, id)
	r.mu.Unlock()
	for h := range holds {
		h.end(e)
	}
}

// watchKeys ends keys for those who are connected by them, and keeps when keys
// were last used.
func (s *Service) watchKeys(ctx context.Context) {
	hints, done := s.Hub.Subscribe(notify.ProvisionerKeys())
	defer done()
	pulse := time.NewTicker(beat)
	defer pulse.Stop()
	next := time.NewTimer(beat)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-hints:
		case <-s.keys.look:
		case <-next.C:
		case <-pulse.C:
			s.markKeys(ctx)
		}
		left, err := s.endKeys(ctx)
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("cannot see which provisioner keys are still good, trying again soon", "error", err)
			left = time.Second
		}
		next.Reset(left)
	}
}

// endKeys gives how long the next of the held keys has to live.
func (s *Service) endKeys(ctx context.Context) (time.Duration, error) {
	left := beat
	ids := s.keys.ids()
	if len(ids) == 0 {
		return left, nil
	}
	rows, err := s.Store.QueueKeysLeft(ctx, ids)
	if err != nil {
		return left, err
	}
	gone := map[uuid.UUID]bool{}
	for _, id := range ids {
		gone[id] = true
	}
	for _, k := range rows {
		gone[k.ID] = false
		if k.LeftMs == 0 {
			s.keys.end(k.ID, KeyEnd{Why: "the provisioner key " + k.Name + " has expired"})
			continue
		}
		left = min(left, time.Duration(k.LeftMs)*time.Millisecond+time.Millisecond)
	}
	for id, revoked := range gone {
		if revoked {
			s.keys.end(id, KeyEnd{Revoked: true, Why: "its provisioner key was deleted"})
		}
	}
	return left, nil
}

func (s *Service) markKeys(ctx context.Context) {
	err := s.Store.QueueKeysUsed(ctx, s.keys.ids())
	if err == nil {
		err = s.Store.QueueForgetKeys(ctx)
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Warn("cannot mark provisioner keys as used, trying again soon", "error", err)
	}
}

// UsedKey notes that a key let somebody in.
func (s *Service) UsedKey(ctx context.Context, id uuid.UUID) error {
	return s.Store.QueueKeysUsed(ctx, []uuid.UUID{id})
}
