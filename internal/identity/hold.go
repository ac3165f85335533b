package identity

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
)

// holdPoll is the interval between checks of a held context without a hint. It covers
// expired keys and lost hints.
const holdPoll = time.Minute

// Hold returns a context for a connection that stays open on behalf of actor. The context ends
// with ctx, and soon after the actor's key ends or is deleted, the user is suspended or deleted, or
// still returns an error for the current subject. A nil still checks whether the actor lost any
// right. Hints on topics cause an immediate check. An open connection counts as use of the key. For
// a client that is not signed in only still is called, if it is set. The caller calls end when the
// connection closes.
func (s *Service) Hold(
	ctx context.Context,
	actor access.Subject,
	still func(context.Context, access.Subject) error,
	topics ...string,
) (held context.Context, end func()) {
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
		poll := time.NewTicker(holdPoll + rand.N(holdPoll/4)) // spread the checks of many connections
		defer poll.Stop()
		for { // the first check covers changes before the subscription
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

// hints subscribes to the hub, if there is one.
func (s *Service) hints(topics []string) (<-chan struct{}, func()) {
	if s.c.Hub == nil {
		return nil, func() {}
	}
	return s.c.Hub.Subscribe(topics...)
}

// again checks whether actor can continue. Errors of the database do not end the
// connection.
func (s *Service) again(ctx context.Context, actor access.Subject, still func(context.Context, access.Subject) error) error {
	now, err := s.current(ctx, actor)
	if err == nil {
		err = still(ctx, now)
	}
	switch codersdk.CodeOf(err) {
	case codersdk.CodeUnauthenticated, codersdk.CodeForbidden, codersdk.CodeNotFound:
		return err
	}
	return nil
}

// current returns the current subject of the actor.
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
	if u.Status == string(codersdk.UserStatusSuspended) {
		return access.Subject{}, suspended()
	}
	now, err := s.rights(u)
	now.Origin = actor.Origin
	return now, err
}

// changedRights causes a check of everything that is held for the users.
func (s *Service) changedRights(users ...uuid.UUID) {
	if s.c.Hub == nil {
		return
	}
	for _, id := range users {
		s.c.Hub.Publish(notify.Rights(id))
	}
}
