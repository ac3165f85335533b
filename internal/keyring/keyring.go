// Package keyring manages provisioner keys: it creates, rotates and deletes them, tracks the connections
// that use them, and ends these when a key ends. Of a secret only the hash is stored. Several keys of
// one name can be valid at a time, so that a rotation needs no downtime.
package keyring

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
)

// beat is the interval of updates of the last use of keys, and the longest time until the end of a key
// is noticed without a hint.
const beat = 30 * time.Second

// Config configures a Service.
type Config struct {
	Store *postgres.Store
	Hub   *notify.Hub
	Log   *slog.Logger
}

// Service manages the keys of one server. It is safe for concurrent use. Every replica runs one over the
// same database.
type Service struct {
	Config
	ring *ring
	lifecycle.Loop
}

// New returns a Service; held keys end only after Start.
func New(c Config) *Service {
	s := &Service{Config: c, ring: newRing()}
	s.Run = s.watch
	return s
}

// Hold records a connection that uses a key. end is called once, soon after the key has expired or was
// deleted, and must not block. Reserved keys never end. The caller calls release when the connection
// ends.
func (s *Service) Hold(id uuid.UUID, end func(End)) (release func()) {
	if codersdk.ReservedProvisionerKeyName(id) != "" {
		return func() {}
	}
	return s.ring.hold(id, end)
}

// watch ends the connections of ended keys and records the last use of keys.
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
			s.Log.Warn("cannot check the provisioner keys in use; retrying", "error", err)
			left = time.Second
		}
		next.Reset(left)
	}
}

// endHeld returns the time until the next held key expires.
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
		s.Log.Warn("cannot record the use of provisioner keys; retrying", "error", err)
	}
}

// Used records a successful authentication with a key.
func (s *Service) Used(ctx context.Context, id uuid.UUID) error {
	return s.Store.QueueKeysUsed(ctx, []uuid.UUID{id})
}
