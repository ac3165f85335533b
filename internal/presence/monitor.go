package presence

import (
	"context"
	"fmt"
	"slices"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// SetMonitor stores whether memory or a volume of an agent is short; path is that of the volume, ""
// for memory. The error is CodeNotFound for monitors that the template does not declare. Repeated
// reports change nothing. (AG-22)
func (s *Service) SetMonitor(ctx context.Context, a Agent, path string, short bool, percent int32) error {
	var changed *codersdk.WorkspaceAgentMonitor
	err := s.store.Tx(ctx, func(q *sqlc.Queries) error {
		changed = nil
		all, err := q.AgentMonitorsForUpdate(ctx, a.ID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(m codersdk.WorkspaceAgentMonitor) bool { return m.Path == path })
		if i < 0 {
			return codersdk.Errorf(codersdk.CodeNotFound, "The template declares no monitor for %q", path)
		}
		m := &all[i]
		if m.ChangedAt != nil && m.Short == short {
			return nil
		}
		now := s.now()
		m.Short, m.Percent, m.ChangedAt = short, min(max(percent, 0), 100), &now
		changed = m
		if err := q.AgentSetMonitors(ctx, all, a.ID); err != nil || !short {
			return err
		}
		e := notification.Event{
			Template: notification.WorkspaceOutOfMemory, WorkspaceID: a.WorkspaceID,
			Labels: map[string]string{"threshold": fmt.Sprintf("%d%%", m.Threshold)},
		}
		if path != "" {
			e.Template, e.Labels["volume"] = notification.WorkspaceOutOfDisk, path
		}
		return notification.Enqueue(ctx, q, e)
	})
	if err != nil || changed == nil {
		return err
	}
	what, log := "memory", s.log.InfoContext
	if path != "" {
		what = path
	}
	text := "a resource of a workspace is below its threshold again"
	if short {
		text, log = "a resource of a workspace is above its threshold", s.log.WarnContext
	}
	log(ctx, text, "of", what, "percent", changed.Percent, "threshold", changed.Threshold, "agent", a.Name, "agent_id", a.ID, "workspace_id", a.WorkspaceID)
	s.changed(a)
	return nil
}
