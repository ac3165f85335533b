package inbox

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// NotificationDigest is a user's choice about emails.
type NotificationDigest struct {
	Available bool `json:"available"` // the deployment sends notifications by email
	Daily     bool `json:"daily"`     // one email a day has all notifications
}

// UpdateNotificationDigest sets a user's choice about emails.
type UpdateNotificationDigest struct {
	Daily bool `json:"daily"`
}

// Digest returns whether a user gets notifications by email once a day.
func (s *Service) Digest(ctx context.Context, actor access.Subject, user uuid.UUID) (NotificationDigest, error) {
	if err := actor.Check(codersdk.RBACActionRead, object(codersdk.RBACResourceNotificationPreference, user)); err != nil {
		return NotificationDigest{}, err
	}
	daily, err := s.c.Store.DigestDaily(ctx, user)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		err = nil
	}
	return NotificationDigest{Daily: daily, Available: slices.Contains(s.c.Methods, codersdk.NotificationMethodSMTP)}, err
}

// UpdateDigest stores the choice of a user. Notifications that wait for the daily email
// are sent soon if the user no longer wants it.
func (s *Service) UpdateDigest(
	ctx context.Context, actor access.Subject, user uuid.UUID, req UpdateNotificationDigest,
) (NotificationDigest, error) {
	if err := actor.Check(codersdk.RBACActionUpdate, object(codersdk.RBACResourceNotificationPreference, user)); err != nil {
		return NotificationDigest{}, err
	}
	if err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.DigestSet(ctx, user, req.Daily); err != nil || req.Daily {
			return err
		}
		return q.DigestSendNow(ctx, user)
	}); err != nil {
		return NotificationDigest{}, err
	}
	return s.Digest(ctx, actor, user)
}
