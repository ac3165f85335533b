package inbox

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Settings returns the settings of all notifications.
func (s *Service) Settings(ctx context.Context, actor access.Subject) (codersdk.NotificationsSettings, error) {
	if err := checkSite(actor, codersdk.RBACActionRead, codersdk.RBACResourceDeploymentConfig); err != nil {
		return codersdk.NotificationsSettings{}, err
	}
	return notification.Settings(ctx, s.c.Store.Queries)
}

// PutSettings stores the settings of all notifications. changed reports whether
// they were others.
func (s *Service) PutSettings(ctx context.Context, actor access.Subject, req codersdk.NotificationsSettings) (changed bool, err error) {
	if err := checkSite(actor, codersdk.RBACActionUpdate, codersdk.RBACResourceDeploymentConfig); err != nil {
		return false, err
	}
	value, err := json.Marshal(req)
	if err != nil {
		return false, err
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		before, err := notification.Settings(ctx, q)
		if err != nil {
			return err
		}
		if changed = before != req; !changed {
			return nil
		}
		if err := q.SitePutSetting(ctx, notification.SettingsName, value, s.c.Now().UTC()); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeNotificationsSettings, Target: "notifications",
			Diff: audit.Diff(before, req),
		})
	})
	if err == nil && changed {
		s.wake()
	}
	return changed, err
}

// wake makes the servers check for events and messages at once.
func (s *Service) wake() {
	if s.c.Hub != nil {
		s.c.Hub.Publish(notify.Kind(string(codersdk.RBACResourceNotificationMessage)))
	}
}

// Test sends a test notification to the actor.
func (s *Service) Test(ctx context.Context, actor access.Subject) error {
	if err := checkSite(actor, codersdk.RBACActionUpdate, codersdk.RBACResourceDeploymentConfig); err != nil {
		return err
	}
	return s.send(ctx, notification.Event{Template: notification.Test, Recipients: []uuid.UUID{actor.UserID}, UserID: actor.UserID, InitiatorID: actor.UserID})
}

// TestBrowsers sends a test notification to the browsers of a user. The caller checks
// permissions.
func (s *Service) TestBrowsers(ctx context.Context, user uuid.UUID) error {
	return s.send(ctx, notification.Event{Template: notification.BrowserTest, Recipients: []uuid.UUID{user}, UserID: user, InitiatorID: user})
}

// Limits of custom notifications, in bytes.
const (
	maxTitle   = 120
	maxMessage = 2000
)

// Custom sends a notification to the actor.
func (s *Service) Custom(ctx context.Context, actor access.Subject, req codersdk.CustomNotificationRequest) error {
	if err := check(actor, codersdk.RBACActionCreate); err != nil {
		return err
	}
	if req.Content == nil {
		return codersdk.Invalid("content", "is required")
	}
	title, message := strings.TrimSpace(req.Content.Title), strings.TrimSpace(req.Content.Message)
	switch {
	case title == "":
		return codersdk.Invalid("title", "is required")
	case len(title) > maxTitle:
		return codersdk.Invalid("title", "is %d bytes long; at most %d are allowed", len(title), maxTitle)
	case message == "":
		return codersdk.Invalid("message", "is required")
	case len(message) > maxMessage:
		return codersdk.Invalid("message", "is %d bytes long; at most %d are allowed", len(message), maxMessage)
	}
	return s.send(ctx, notification.Event{
		Template: notification.Custom, Recipients: []uuid.UUID{actor.UserID}, UserID: actor.UserID, InitiatorID: actor.UserID,
		Labels: map[string]string{"custom_title": title, "custom_message": message},
	})
}

func (s *Service) send(ctx context.Context, e notification.Event) error {
	if err := notification.Enqueue(ctx, s.c.Store.Queries, e); err != nil {
		return err
	}
	s.wake()
	return nil
}

// maxFailed is the number of dead letters that Status returns.
const maxFailed = 100

// Status describes the queue and its dead letters.
func (s *Service) Status(ctx context.Context, actor access.Subject) (codersdk.NotificationStatus, error) {
	out := codersdk.NotificationStatus{Failed: []codersdk.NotificationDelivery{}}
	if err := checkSite(actor, codersdk.RBACActionRead, codersdk.RBACResourceNotificationMessage); err != nil {
		return out, err
	}
	settings, err := notification.Settings(ctx, s.c.Store.Queries)
	if err != nil {
		return out, err
	}
	counts, err := s.c.Store.NotificationCounts(ctx)
	if err != nil {
		return out, err
	}
	out.Paused, out.WaitingEvents, out.WaitingMessages = settings.NotifierPaused, int(counts.Events), int(counts.Messages)
	out.OldestSeconds, out.FailedCount = counts.OldestSeconds, int(counts.Dead)
	rows, err := s.c.Store.NotificationDead(ctx, 0, maxFailed)
	for _, r := range rows {
		out.Failed = append(out.Failed, codersdk.NotificationDelivery{
			ID: r.ID, TemplateID: r.Kind, Method: codersdk.NotificationMethod(r.Method), Username: r.Username, Title: r.Title,
			Attempts: int(r.Attempts), CreatedAt: r.CreatedAt, FailedAt: r.FailedAt, Error: r.Error,
		})
	}
	return out, err
}

// Retry puts a dead letter back into the queue.
func (s *Service) Retry(ctx context.Context, actor access.Subject, id uuid.UUID) error {
	if err := checkSite(actor, codersdk.RBACActionUpdate, codersdk.RBACResourceNotificationMessage); err != nil {
		return err
	}
	n, err := s.c.Store.NotificationRetryMessage(ctx, id)
	if err == nil && n == 0 {
		n, err = s.c.Store.NotificationRetryEvent(ctx, id)
	}
	switch {
	case err != nil:
		return err
	case n == 0:
		return codersdk.Errorf(codersdk.CodeNotFound, "No failed notification has this ID")
	}
	s.wake()
	return nil
}

// Retention is how long delivered messages and dead letters are kept.
const Retention = 7 * 24 * time.Hour

// PurgeMessages deletes delivered messages and dead letters after Retention.
func (s *Service) PurgeMessages(ctx context.Context) (int64, error) {
	before := s.c.Now().Add(-Retention)
	total := int64(0)
	for _, del := range []func() (int64, error){
		func() (int64, error) { return s.c.Store.NotificationPurgeMessages(ctx, before) },
		func() (int64, error) { return s.c.Store.NotificationPurgeEvents(ctx, &before) },
		func() (int64, error) { return s.c.Store.NotificationPurgeRepeats(ctx, before) },
	} {
		n, err := postgres.InBatches(ctx, del)
		total += n
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// PurgeInbox deletes notifications from inboxes that are older than keep.
func (s *Service) PurgeInbox(ctx context.Context, keep time.Duration) (int64, error) {
	return postgres.InBatches(ctx, func() (int64, error) { return s.c.Store.NotificationPurgeInbox(ctx, s.c.Now().Add(-keep)) })
}
