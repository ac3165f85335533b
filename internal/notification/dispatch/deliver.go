package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// outbox sends the messages of one method, so that a receiver that does not respond
// delays no other method.
type outbox struct {
	*Service
	method   string
	due      chan struct{} // wakes run
	slots    chan struct{} // has an element for each attempt under way
	attempts sync.WaitGroup
}

func newOutbox(s *Service, method string) *outbox {
	return &outbox{Service: s, method: method, due: make(chan struct{}, 1), slots: make(chan struct{}, s.Leases)}
}

// run sends messages until ctx ends, and then finishes the attempts under way.
func (o *outbox) run(ctx context.Context) {
	lifecycle.Poll(ctx, o.Fetch, o.due, func(ctx context.Context) (bool, error) { //nolint:errcheck // ends with ctx
		if err := o.send(ctx); err != nil && ctx.Err() == nil {
			o.Log.Warn("cannot read the queue of notifications; retrying", "method", o.method, "error", err)
		}
		return false, nil
	})
	o.attempts.Wait()
}

// wake makes run look for due messages.
func (o *outbox) wake() {
	select {
	case o.due <- struct{}{}:
	default:
	}
}

// send starts an attempt for each due message, and waits for a slot when all are taken.
func (o *outbox) send(ctx context.Context) error {
	for {
		select {
		case o.slots <- struct{}{}: // of the first message
		case <-ctx.Done():
			return ctx.Err()
		}
		rows, err := o.claim(ctx, 1+cap(o.slots)-len(o.slots))
		if err != nil || len(rows) == 0 {
			<-o.slots
			return err
		}
		for i, r := range rows {
			if i > 0 {
				o.slots <- struct{}{} // does not wait: only send takes slots
			}
			o.attempts.Go(func() {
				defer func() { <-o.slots }()
				o.deliver(context.WithoutCancel(ctx), r)
			})
		}
	}
}

// claim leases at most limit due messages.
func (o *outbox) claim(ctx context.Context, limit int) ([]sqlc.NotificationClaimRow, error) {
	paused, err := o.paused(ctx)
	if err != nil {
		return nil, err
	}
	lease := uuid.New()
	return o.Store.NotificationClaim(ctx, sqlc.NotificationClaimParams{
		LeaseID: &lease, LeaseSeconds: seconds(o.LeasePeriod), Method: o.method, MaxRows: int32(limit),
		AllKinds: !paused, Kinds: notification.Unpausable(),
	})
}

// deliver makes one attempt and records its result.
func (s *Service) deliver(ctx context.Context, r sqlc.NotificationClaimRow) {
	t, known := notification.ByID(r.Kind)
	retry, err := true, error(nil)
	switch {
	case !known:
		retry, err = false, codersdk.Errorf(codersdk.CodeInvalid, "the template is not known to this version of the server")
	case r.UserDeletedAt != nil:
		retry, err = false, codersdk.Errorf(codersdk.CodeNotFound, "the recipient was deleted")
	case int(r.Attempts) > s.MaxAttempts:
		retry, err = false, codersdk.Errorf(codersdk.CodeUnavailable, "the server stopped during each of %d attempts", s.MaxAttempts)
	default:
		retry, err = s.attempt(ctx, t, r)
	}
	s.record(ctx, t, r, retry, err)
}

// attempt sends a message once.
func (s *Service) attempt(ctx context.Context, t notification.Template, r sqlc.NotificationClaimRow) (retry bool, err error) {
	end := s.metrics.begin(r)
	defer end()
	ctx, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	m := Message{
		ID: r.ID, Template: t, User: codersdk.MinimalUser{ID: r.UserID, Username: r.Username, Name: r.Name}, Email: r.Email,
		Title: r.Title, Content: r.Content, Actions: r.Actions, Labels: r.Labels, Data: r.Data, Targets: r.Targets,
	}
	if r.SubscriptionID != nil {
		m.Subscription = *r.SubscriptionID
	}
	if t.Secret {
		if m.Secret, err = s.newPasscode(ctx, r.UserID); err != nil {
			return !codersdk.Is(err, codersdk.CodePrecondition), err
		}
	}
	return s.Senders[r.Method](ctx, m)
}

// record stores the result of an attempt, unless the lease was lost.
func (s *Service) record(ctx context.Context, t notification.Template, r sqlc.NotificationClaimRow, retry bool, result error) {
	s.metrics.pending.Inc()
	defer s.metrics.pending.Dec()
	log := s.Log.With("message", r.ID, "method", r.Method, "template", t.Name, "user", r.Username, "attempt", r.Attempts)
	var rows int64
	var err error
	switch {
	case errors.Is(result, ErrGone):
		log.Info("a notification was not sent", "reason", result)
		return
	case result == nil:
		rows, err = s.Store.NotificationSent(ctx, r.ID, r.LeaseID)
	case retry && int(r.Attempts) < s.MaxAttempts:
		pause := s.Retry << (r.Attempts - 1)
		log.Warn("sending a notification failed; retrying later", "pause", pause.String(), "error", result)
		s.metrics.retried(r)
		rows, err = s.Store.NotificationPostpone(ctx, sqlc.NotificationPostponeParams{
			ID: r.ID, LeaseID: r.LeaseID, Error: truncate(result.Error()), PauseSeconds: seconds(min(pause, 24*time.Hour)),
		})
	default:
		log.Error("sending a notification failed; giving up", "error", result)
		rows, err = s.Store.NotificationFailed(ctx, truncate(result.Error()), r.ID, r.LeaseID)
		if err == nil && rows > 0 && r.UserDeletedAt == nil {
			s.metrics.failed(r)
		}
	}
	switch {
	case err != nil:
		log.Warn("cannot record the result of a notification; it is sent again when its lease ends", "error", err)
	case rows == 0:
		log.Warn("the lease of a notification ended before its attempt; it may be sent twice")
	default:
		s.metrics.updated.Inc()
	}
}
