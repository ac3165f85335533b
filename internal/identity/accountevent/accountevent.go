// Package accountevent notifies users of changes to accounts.
package accountevent

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// NotifyAdmins notifies user administrators of a change of an account.
func NotifyAdmins(ctx context.Context, q *sqlc.Queries, actor access.Subject, template, user uuid.UUID) error {
	return notification.Enqueue(ctx, q, notification.Event{Template: template, UserID: user, InitiatorID: notification.InitiatorOf(actor)})
}

// NotifyStatus notifies user administrators and the user of a suspension or an
// activation.
func NotifyStatus(ctx context.Context, q *sqlc.Queries, actor access.Subject, old sqlc.User, status codersdk.UserStatus) error {
	if old.Status == string(status) {
		return nil
	}
	admins, user := notification.UserActivated, notification.YourAccountActivated
	if status == codersdk.UserStatusSuspended {
		admins, user = notification.UserSuspended, notification.YourAccountSuspended
	}
	if err := NotifyAdmins(ctx, q, actor, admins, old.ID); err != nil {
		return err
	}
	return notification.Enqueue(ctx, q, notification.Event{
		Template: user, Recipients: []uuid.UUID{old.ID}, UserID: old.ID, InitiatorID: notification.InitiatorOf(actor),
	})
}
