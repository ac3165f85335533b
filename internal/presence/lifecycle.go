package presence

import (
	"context"
	"slices"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// SetLifecycle stores a state that an agent reports. The error is CodeInvalid for an unknown state
// and CodeConflict for a state that cannot follow the current one.
func (s *Service) SetLifecycle(ctx context.Context, a Agent, state codersdk.WorkspaceAgentLifecycle, at time.Time) error {
	if state.Next() == nil || state == codersdk.WorkspaceAgentLifecycleCreated {
		return codersdk.Invalid("state", "%q is not a lifecycle state", state)
	}
	now := s.now()
	if at.After(now) || at.Before(now.Add(-24*time.Hour)) {
		at = now // the clock of the workspace is wrong
	}
	same := false
	var began *time.Time // of the start that ends with this state
	err := s.store.Tx(ctx, func(q *sqlc.Queries) error {
		row, err := q.AgentLifecycleForUpdate(ctx, a.ID)
		if err != nil {
			return err
		}
		from := codersdk.WorkspaceAgentLifecycle(row.LifecycleState)
		if same = from == state; same {
			return nil
		}
		if !slices.Contains(from.Next(), state) {
			return codersdk.Errorf(codersdk.CodeConflict, "An agent that is %s cannot become %s", from, state)
		}
		started, ready := row.StartedAt, row.ReadyAt
		switch state {
		case codersdk.WorkspaceAgentLifecycleStarting:
			started, ready = &at, nil
		case codersdk.WorkspaceAgentLifecycleReady, codersdk.WorkspaceAgentLifecycleStartError, codersdk.WorkspaceAgentLifecycleStartTimeout:
			ready, began = &at, row.StartedAt
		}
		return q.AgentSetLifecycle(ctx, sqlc.AgentSetLifecycleParams{
			ID: a.ID, LifecycleState: string(state), StartedAt: started, ReadyAt: ready, Now: now,
		})
	})
	if err == nil && !same {
		s.changed(a)
		if began != nil || state == codersdk.WorkspaceAgentLifecycleStarting {
			s.traceStart(ctx, a, began, at, state == codersdk.WorkspaceAgentLifecycleReady)
		}
	}
	return err
}
