package template

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// notifyDeprecated notifies of a template that a change deprecates.
func notifyDeprecated(ctx context.Context, q *sqlc.Queries, actor access.Subject, old, t sqlc.Template) error {
	if old.DeprecationMessage != "" || t.DeprecationMessage == "" {
		return nil
	}
	return notification.Enqueue(ctx, q, notification.Event{
		Template: notification.TemplateDeprecated, TemplateID: t.ID, InitiatorID: notification.InitiatorOf(actor),
		Labels: map[string]string{"message": t.DeprecationMessage},
	})
}

// maxError bounds the error of an import in a notification, in bytes.
const maxError = 500

// notifyImportFailed notifies of a failed import of a version of a template, unless
// a user canceled it.
func notifyImportFailed(ctx context.Context, q *sqlc.Queries, job queue.Job, v sqlc.TemplateVersion, reason string) error {
	if v.TemplateID == nil || job.Canceled {
		return nil
	}
	if len(reason) > maxError {
		reason = reason[:maxError]
	}
	return notification.Enqueue(ctx, q, notification.Event{
		Template: notification.TemplateImportFailed, TemplateID: *v.TemplateID, VersionID: v.ID, InitiatorID: job.InitiatorID,
		Labels: map[string]string{"error": reason},
	})
}
