// Package notification records events that users are notified of, and describes
// them: the templates with their recipients and texts.
//
// A use case calls Enqueue in the transaction of the event, so that a
// notification exists if and only if the event happened. Enqueue inserts one row
// and reads nothing. Package dispatch does the rest after the commit: it looks up
// names and recipients, fills the inboxes and sends email, webhooks and web push.
// Package inbox serves the inboxes, the preferences and the settings.
package notification

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Event is something that users are notified of. Its objects are named by ID; the
// notification contains their names at the time of the notification.
type Event struct {
	Template uuid.UUID // ID of a template of this package
	// Recipients replace the audience of the template; nil for the audience.
	Recipients []uuid.UUID

	OrganizationID, WorkspaceID, TemplateID, VersionID uuid.UUID // Nil for none
	UserID                                             uuid.UUID // the user that the event is about
	InitiatorID                                        uuid.UUID // the user who caused it; Nil: the server

	Labels map[string]string // more values for the texts, in clear
	Data   any               // of reports, as JSON; nil for none
}

// Enqueue records an event with q, in the transaction of the event.
func Enqueue(ctx context.Context, q *sqlc.Queries, e Event) error {
	if _, ok := ByID(e.Template); !ok {
		return codersdk.Errorf(codersdk.CodeInternal, "notification template %s does not exist", e.Template)
	}
	data := json.RawMessage(`{}`)
	if e.Data != nil {
		b, err := json.Marshal(e.Data)
		if err != nil {
			return fmt.Errorf("encode the data of a notification: %w", err)
		}
		data = b
	}
	if e.Labels == nil {
		e.Labels = map[string]string{}
	}
	if e.Recipients == nil {
		e.Recipients = []uuid.UUID{}
	}
	return q.NotificationEnqueue(ctx, sqlc.NotificationEnqueueParams{
		ID: uuid.New(), Kind: e.Template, OrganizationID: optional(e.OrganizationID), WorkspaceID: optional(e.WorkspaceID),
		TemplateID: optional(e.TemplateID), VersionID: optional(e.VersionID), SubjectID: optional(e.UserID), InitiatorID: optional(e.InitiatorID),
		Recipients: e.Recipients, Labels: e.Labels, Data: data,
	})
}

// InitiatorOf returns the user behind an actor, Nil for the server.
func InitiatorOf(actor access.Subject) uuid.UUID {
	if actor.System {
		return uuid.Nil
	}
	return actor.UserID
}

func optional(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

// SettingsName is the name of the stored codersdk.NotificationsSettings.
const SettingsName = "notifications"

// Settings reads the settings of all notifications.
func Settings(ctx context.Context, q *sqlc.Queries) (out codersdk.NotificationsSettings, err error) {
	b, err := q.SiteSetting(ctx, SettingsName)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return out, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	return out, err
}
