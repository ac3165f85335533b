package queue

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/keyring"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
)

// HoldKey notes that somebody is connected by a key. end is called once, soon
// after the key has expired or was deleted; it must not block. Reserved keys
// never end. The caller calls release when the connection is gone.
func (s *Service) HoldKey(id uuid.UUID, end func(keyring.End)) (release func()) {
	if keyName(id, "") != "" {
		return func() {}
	}
	return s.keys.Hold(id, end)
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
		case <-s.keys.Look():
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
	ids := s.keys.Keys()
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
			s.keys.End(k.ID, keyring.End{Why: "the provisioner key " + k.Name + " has expired"})
			continue
		}
		left = min(left, time.Duration(k.LeftMs)*time.Millisecond+time.Millisecond)
	}
	for id, revoked := range gone {
		if revoked {
			s.keys.End(id, keyring.End{Revoked: true, Why: "its provisioner key was deleted"})
		}
	}
	return left, nil
}

func (s *Service) markKeys(ctx context.Context) {
	err := s.Store.QueueKeysUsed(ctx, s.keys.Keys())
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
