package codersdk

import (
	"context"
	"net/http"
	"net/url"

	"github.com/google/uuid"
)

// NotificationsSettings calls GET /notifications/settings.
func (c *Client) NotificationsSettings(ctx context.Context) (out NotificationsSettings, err error) {
	err = c.do(ctx, "GET", "/notifications/settings", nil, nil, &out)
	return out, err
}

// PutNotificationsSettings calls PUT /notifications/settings, which responds 304 if
// nothing changed.
func (c *Client) PutNotificationsSettings(ctx context.Context, req NotificationsSettings) error {
	resp, err := c.Request(ctx, "PUT", "/notifications/settings", nil, req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 && resp.StatusCode != http.StatusNotModified {
		return ReadError(resp)
	}
	return nil
}

// PostTestNotification calls POST /notifications/test.
func (c *Client) PostTestNotification(ctx context.Context) error {
	return c.do(ctx, "POST", "/notifications/test", nil, nil, nil)
}

// PostCustomNotification calls POST /notifications/custom.
func (c *Client) PostCustomNotification(ctx context.Context, req CustomNotificationRequest) error {
	return c.do(ctx, "POST", "/notifications/custom", nil, req, nil)
}

// SystemNotificationTemplates calls GET /notifications/templates/system.
func (c *Client) SystemNotificationTemplates(ctx context.Context) (out []NotificationTemplate, err error) {
	err = c.do(ctx, "GET", "/notifications/templates/system", nil, nil, &out)
	return out, err
}

// InboxNotifications calls GET /notifications/inbox.
func (c *Client) InboxNotifications(ctx context.Context, q url.Values) (out ListInboxNotificationsResponse, err error) {
	err = c.do(ctx, "GET", "/notifications/inbox", q, nil, &out)
	return out, err
}

// UpdateInboxNotificationReadStatus calls PUT /notifications/inbox/{id}/read-status.
func (c *Client) UpdateInboxNotificationReadStatus(
	ctx context.Context, id uuid.UUID, req UpdateInboxNotificationReadStatusRequest,
) (out UpdateInboxNotificationReadStatusResponse, err error) {
	err = c.do(ctx, "PUT", "/notifications/inbox/"+id.String()+"/read-status", nil, req, &out)
	return out, err
}

// MarkAllInboxNotificationsAsRead calls PUT /notifications/inbox/mark-all-as-read.
func (c *Client) MarkAllInboxNotificationsAsRead(ctx context.Context) error {
	return c.do(ctx, "PUT", "/notifications/inbox/mark-all-as-read", nil, nil, nil)
}

// NotificationQueue calls GET /notifications/queue.
func (c *Client) NotificationQueue(ctx context.Context) (out NotificationStatus, err error) {
	err = c.do(ctx, "GET", "/notifications/queue", nil, nil, &out)
	return out, err
}
