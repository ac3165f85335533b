package presence

import (
	"context"
	"slices"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// SetLifecycle takes a state that an agent reports. The error is CodeInvalid
// for a state that is unknown and CodeConflict for one that cannot follow.
func (s *Service) SetLifecycle(ctx context.Context, a Agent, state coder.WorkspaceAgentLifecycle, at time.Time) error {
	if state.Next() == nil || state == coder.WorkspaceAgentLifecycleCreated {
		return coder.Invalid("state", "%q is not a state that an agent reports", state)
	}
	now := s.now()
	if at.After(now) || at.Before(now.Add(-24*time.Hour)) {
		at = now // the clock of the workspace is off
	}
	same := false
	err := s.store.Tx(ctx, func(q *sqlc.Queries) error {
		row, err := q.AgentLifecycleForUpdate(ctx, a.ID)
		if err != nil {
			return err
		}
		from := coder.WorkspaceAgentLifecycle(row.LifecycleState)
		if same = from == state; same {
			return nil
		}
		if !slices.Contains(from.Next(), state) {
			return coder.Errorf(coder.CodeConflict, "An agent that is %s cannot become %s", from, state)
		}
		started, ready := row.StartedAt, row.ReadyAt
		switch state {
		case coder.WorkspaceAgentLifecycleStarting:
			started, ready = &at, nil
		case coder.WorkspaceAgentLifecycleReady, coder.WorkspaceAgentLifecycleStartError, coder.WorkspaceAgentLifecycleStartTimeout:
			ready = &at
		}
		return q.AgentSetLifecycle(ctx, sqlc.AgentSetLifecycleParams{
			ID: a.ID, LifecycleState: string(state), StartedAt: started, ReadyAt: ready, Now: now,
		})
	})
	if err == nil && !same {
		s.changed(a)
	}
	return err
}
