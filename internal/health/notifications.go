package health

import (
	"context"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
)

// notificationsLate is the age of a waiting message after which delivery counts
// as delayed. Failed attempts are repeated after some minutes, so a message may
// wait for a time.
const notificationsLate = 30 * time.Minute

// QueueStatus describes the queue of notifications to an administrator.
type QueueStatus func(ctx context.Context, actor access.Subject) (codersdk.NotificationStatus, error)

// notifications checks the delivery of notifications: the age of the queue, and
// the messages that could not be delivered.
func (s *Service) notifications(ctx context.Context) codersdk.NotificationsHealthReport {
	r := codersdk.NotificationsHealthReport{HealthBase: fine(), Healthy: true}
	if s.c.Notifications == nil {
		return r
	}
	status, err := s.c.Notifications(ctx, access.System())
	if err != nil {
		fail(&r.HealthBase, codersdk.HealthCodeUnknown, "cannot read the queue of notifications: %s", err)
		r.Healthy = false
		return r
	}
	r.Paused, r.Waiting, r.OldestSeconds, r.Failed = status.Paused, status.WaitingEvents+status.WaitingMessages, status.OldestSeconds, status.FailedCount
	if status.Paused {
		warn(&r.HealthBase, codersdk.HealthCodeNotificationsPaused,
			"notifications are paused, and %d wait; resume them with 'coder notifications resume'", r.Waiting)
	}
	if late := time.Duration(status.OldestSeconds * float64(time.Second)); !status.Paused && late > notificationsLate {
		warn(&r.HealthBase, codersdk.HealthCodeNotificationsLate,
			"a notification has waited for %s, and %d wait; check that the mail server or the webhook answers", late.Round(time.Minute), r.Waiting)
	}
	if status.FailedCount > 0 {
		warn(&r.HealthBase, codersdk.HealthCodeNotificationsFailed,
			"%d notifications could not be delivered; read the reasons in Deployment > Notifications, and retry them there", status.FailedCount)
	}
	return r
}
