package presence

import (
	"context"
	"slices"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// SetMonitor takes that memory or a volume of an agent runs short, or no more;
// path is that of the volume, "" for memory. It is CodeNotFound for what the
// template does not have watched; to say the same again changes nothing. (AG-22)
func (s *Service) SetMonitor(ctx context.Context, a Agent, path string, short bool, percent int32) error {
	var changed *coder.WorkspaceAgentMonitor
	err := s.store.Tx(ctx, func(q *sqlc.Queries) error {
		changed = nil
		all, err := q.AgentMonitorsForUpdate(ctx, a.ID)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(m coder.WorkspaceAgentMonitor) bool { return m.Path == path })
		if i < 0 {
			return coder.Errorf(coder.CodeNotFound, "The template does not have %q watched", path)
		}
		m := &all[i]
		if m.ChangedAt != nil && m.Short == short {
			return nil
		}
		now := s.now()
		m.Short, m.Percent, m.ChangedAt = short, min(max(percent, 0), 100), &now
		changed = m
		return q.AgentSetMonitors(ctx, all, a.ID)
	})
	if err != nil || changed == nil {
		return err
	}
	what, log := "memory", s.log.InfoContext
	if path != "" {
		what = path
	}
	text := "a workspace has room again"
	if short {
		text, log = "a workspace runs short", s.log.WarnContext
	}
	log(ctx, text, "of", what, "percent", changed.Percent, "threshold", changed.Threshold, "agent", a.Name, "agent_id", a.ID, "workspace_id", a.WorkspaceID)
	s.changed(a)
	return nil
}
