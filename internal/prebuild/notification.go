package prebuild

import (
	"context"
	"strconv"

	"github.com/seed-2a7f8fe7/coder/internal/notification"
)

// notifySuspended notifies template administrators of a preset that is suspended,
// once while it stays suspended and this server runs.
func (s *Service) notifySuspended(ctx context.Context, now situation, p preset) {
	about := "notification of preset " + p.id.String()
	reached := strconv.Itoa(p.failures)
	if s.said[about] == reached {
		return
	}
	err := notification.Enqueue(ctx, s.Store.Queries, notification.Event{
		Template: notification.TemplatePrebuildsFail, TemplateID: now.templateID, VersionID: now.version,
		Labels: map[string]string{"preset": p.name, "failures": reached},
	})
	if err != nil {
		s.trouble("notifications", err, "template_id", now.templateID)
		return
	}
	s.said[about] = reached
}
