package identity

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
)

// holdPoll is how often a held context asks again without a hint: for keys
// that run out, and for hints that were lost.
const holdPoll = time.Minute

// Hold gives a context for what stays open on behalf of actor. It ends with
// ctx, and soon after actor may not have it any more: the key ended or was
// deleted, the user was suspended or deleted, or still says no, which is asked
// with the subject as it is by then; nil asks whether anything was lost. Hints
// on the topics have it ask at once. Being open counts as use of the key. Of
// somebody who is not signed in only still is asked, if there is one. The caller
// calls end when it is done.
func (s *Service) Hold(ctx context.Context, actor access.Subject, still func(context.Context, access.Subject) error, topics ...string) (held context.Context, end func()) {
	if actor.System || actor.UserID == uuid.Nil && still == nil {
		return context.WithCancel(ctx)
	}
	if still == nil {
		still = func(_ context.Context, now access.Subject) error {
			if access.Lost(actor, now) {
				return signedOut()
			}
			return nil
		}
	}
	held, cancel := context.WithCancelCause(ctx)
	hints, unsubscribe := s.hints(append(topics, notify.Rights(actor.UserID), notify.AllRights()))
	go func() {
		defer unsubscribe()
		poll := time.NewTicker(holdPoll + rand.N(holdPoll/4)) // not all at once
		defer poll.Stop()
		for { // once at the beginning, for what happened before the subscription
			if err := s.again(held, actor, still); err != nil {
				cancel(err)
				return
			}
			select {
			case <-held.Done():
				return
			case <-hints:
			case <-poll.C:
			}
		}
	}()
	return held, func() { cancel(context.Canceled) }
}

// hints subscribes, where there is a hub to subscribe to.
func (s *Service) hints(topics []string) (<-chan struct{}, func()) {
	if s.c.Hub == nil {
		return nil, func() {}
	}
	return s.c.Hub.Subscribe(topics...)
}

// again asks whether actor may go on. An error of the database is no answer,
// and no reason to stop.
func (s *Service) again(ctx context.Context, actor access.Subject, still func(context.Context, access.Subject) error) error {
	now, err := s.current(ctx, actor)
	if err == nil {
		err = still(ctx, now)
	}
	switch coder.CodeOf(err) {
	case coder.CodeUnauthenticated, coder.CodeForbidden, coder.CodeNotFound:
		return err
	}
	return nil
}

// current gives the subject as it is now.
func (s *Service) current(ctx context.Context, actor access.Subject) (access.Subject, error) {
	if actor.UserID == uuid.Nil {
		return actor, nil
	}
	if actor.KeyID != "" {
		return s.AuthenticateKey(ctx, actor.KeyID, actor.Origin)
	}
	u, err := s.c.Store.UserSubject(ctx, actor.UserID)
	if err != nil {
		return access.Subject{}, err
	}
	if u.Status == string(coder.UserStatusSuspended) {
		return access.Subject{}, suspended()
	}
	now, err := s.rights(u)
	now.Origin = actor.Origin
	return now, err
}

// changedRights tells what is held for a user to ask again.
func (s *Service) changedRights(users ...uuid.UUID) {
	if s.c.Hub == nil {
		return
	}
	for _, id := range users {
		s.c.Hub.Publish(notify.Rights(id))
	}
}
