package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// NotificationMethod is a way in which notifications reach users.
type NotificationMethod string

// Values of NotificationMethod. NotificationMethodInbox means the inbox only; the other methods add to
// the inbox.
const (
	NotificationMethodSMTP    NotificationMethod = "smtp"
	NotificationMethodWebhook NotificationMethod = "webhook"
	NotificationMethodInbox   NotificationMethod = "inbox"
)

// NotificationMethodsResponse lists the methods, and the one of templates that name none.
type NotificationMethodsResponse struct {
	Available []NotificationMethod `json:"available"`
	Default   NotificationMethod   `json:"default"`
}

// NotificationsSettings are the settings of all notifications.
type NotificationsSettings struct {
	NotifierPaused bool `json:"notifier_paused"` // events wait until the notifier is resumed
}

// NotificationTemplateKind is whether a template is part of the server or custom.
type NotificationTemplateKind string

// Values of NotificationTemplateKind.
const (
	NotificationTemplateKindSystem NotificationTemplateKind = "system"
	NotificationTemplateKindCustom NotificationTemplateKind = "custom"
)

// NotificationTemplate describes one kind of notification.
type NotificationTemplate struct {
	Actions          string                   `json:"actions"` // JSON list of InboxNotificationAction, before labels are inserted
	BodyTemplate     string                   `json:"body_template"`
	EnabledByDefault bool                     `json:"enabled_by_default"`
	Group            string                   `json:"group"`
	ID               uuid.UUID                `json:"id"`
	Kind             NotificationTemplateKind `json:"kind"`
	Method           NotificationMethod       `json:"method"` // "" means the default method
	Name             string                   `json:"name"`
	TitleTemplate    string                   `json:"title_template"`
}

// UpdateNotificationTemplateMethod sets the method of a template; "" means the default method.
type UpdateNotificationTemplateMethod struct {
	Method NotificationMethod `json:"method"`
}

// NotificationPreference is a user's choice about one template.
type NotificationPreference struct {
	Disabled  bool      `json:"disabled"`
	ID        uuid.UUID `json:"id"` // of the template
	UpdatedAt time.Time `json:"updated_at"`
}

// UpdateUserNotificationPreferences sets choices of a user, by template.
type UpdateUserNotificationPreferences struct {
	TemplateDisabledMap map[string]bool `json:"template_disabled_map"`
}

// InboxNotificationAction is a link of a notification.
type InboxNotificationAction struct {
	Label string `json:"label"`
	URL   string `json:"url"`
}

// InboxNotification is one notification in a user's inbox.
type InboxNotification struct {
	Actions    []InboxNotificationAction `json:"actions"`
	Content    string                    `json:"content"` // Markdown, or plain text if the request asks for it
	CreatedAt  time.Time                 `json:"created_at"`
	Icon       string                    `json:"icon"`
	ID         uuid.UUID                 `json:"id"`
	ReadAt     *time.Time                `json:"read_at"`
	Targets    []uuid.UUID               `json:"targets"` // objects that the notification is about
	TemplateID uuid.UUID                 `json:"template_id"`
	Title      string                    `json:"title"`
	UserID     uuid.UUID                 `json:"user_id"`
}

// GetInboxNotificationResponse is one message of a watch.
type GetInboxNotificationResponse struct {
	Notification InboxNotification `json:"notification"`
	UnreadCount  int               `json:"unread_count"`
}

// ListInboxNotificationsResponse is a page of an inbox, the newest first.
type ListInboxNotificationsResponse struct {
	Notifications []InboxNotification `json:"notifications"`
	UnreadCount   int                 `json:"unread_count"` // of the whole inbox
}

// UpdateInboxNotificationReadStatusRequest marks a notification as read or unread.
type UpdateInboxNotificationReadStatusRequest struct {
	IsRead bool `json:"is_read"`
}

// UpdateInboxNotificationReadStatusResponse is the changed notification.
type UpdateInboxNotificationReadStatusResponse struct {
	Message      string            `json:"message"`
	Notification InboxNotification `json:"notification"`
	UnreadCount  int               `json:"unread_count"`
}

// CustomNotificationContent is the text of a custom notification.
type CustomNotificationContent struct {
	Message string `json:"message"`
	Title   string `json:"title"`
}

// CustomNotificationRequest sends a notification to the user who requests it.
type CustomNotificationRequest struct {
	Content *CustomNotificationContent `json:"content"`
}

// NotificationDelivery is a message that could not be delivered.
type NotificationDelivery struct {
	Attempts   int                `json:"attempts"`
	CreatedAt  time.Time          `json:"created_at"`
	Error      string             `json:"error"`
	FailedAt   time.Time          `json:"failed_at"`
	ID         uuid.UUID          `json:"id"`
	Method     NotificationMethod `json:"method"` // "" for an event that could not be rendered
	TemplateID uuid.UUID          `json:"template_id"`
	Title      string             `json:"title"`
	Username   string             `json:"username"` // of the recipient
}

// NotificationStatus describes the queue of notifications.
type NotificationStatus struct {
	Failed          []NotificationDelivery `json:"failed"`         // the newest first, at most 100
	FailedCount     int                    `json:"failed_count"`   // of all
	OldestSeconds   float64                `json:"oldest_seconds"` // age of the oldest waiting message
	Paused          bool                   `json:"paused"`
	WaitingEvents   int                    `json:"waiting_events"`
	WaitingMessages int                    `json:"waiting_messages"`
}
