// Package keyring has the keys that provisioners sign in with: it makes, rotates
// and deletes them, knows who is connected by which, and tells them when a key
// ends. Of a secret only the hash is stored, and several keys of one name may
// be good at a time, so that a rotation has no moment without a good one.
package keyring

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// beat is how often keys in use are marked as used, and the longest that an
// ended one may go unnoticed when no hint came.
const beat = 30 * time.Second

// Config is what a Service needs.
type Config struct {
	Store *postgres.Store
	Hub   *notify.Hub
	Log   *slog.Logger
}

// Service is the keys of one server. It is safe for concurrent use; replicas
// run one each over the same database.
type Service struct {
	Config
	ring *ring
	lifecycle.Loop
}

// New makes a service; what was held ends only once it was started.
func New(c Config) *Service {
	s := &Service{Config: c, ring: newRing()}
	s.Run = s.watch
	return s
}

// Hold notes that somebody is connected by a key. end is called once, soon
// after the key has expired or was deleted; it must not block. Reserved keys
// never end. The caller calls release when the connection is gone.
func (s *Service) Hold(id uuid.UUID, end func(End)) (release func()) {
	if coder.ReservedProvisionerKeyName(id) != "" {
		return func() {}
	}
	return s.ring.hold(id, end)
}

// watch ends keys for those who are connected by them, and keeps when keys
// were last used.
func (s *Service) watch(ctx context.Context) {
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
		case <-s.ring.wake():
		case <-next.C:
		case <-pulse.C:
			s.mark(ctx)
		}
		left, err := s.endHeld(ctx)
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("cannot see which provisioner keys are still good, trying again soon", "error", err)
			left = time.Second
		}
		next.Reset(left)
	}
}

// endHeld gives how long the next of the held keys has to live.
func (s *Service) endHeld(ctx context.Context) (time.Duration, error) {
	left := beat
	ids := s.ring.keys()
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
			s.ring.end(k.ID, End{Why: "the provisioner key " + k.Name + " has expired"})
			continue
		}
		left = min(left, time.Duration(k.LeftMs)*time.Millisecond+time.Millisecond)
	}
	for id, revoked := range gone {
		if revoked {
			s.ring.end(id, End{Revoked: true, Why: "its provisioner key was deleted"})
		}
	}
	return left, nil
}

func (s *Service) mark(ctx context.Context) {
	err := s.Store.QueueKeysUsed(ctx, s.ring.keys())
	if err == nil {
		err = s.Store.QueueForgetKeys(ctx)
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Warn("cannot mark provisioner keys as used, trying again soon", "error", err)
	}
}

// Used notes that a key let somebody in.
func (s *Service) Used(ctx context.Context, id uuid.UUID) error {
	return s.Store.QueueKeysUsed(ctx, []uuid.UUID{id})
}
