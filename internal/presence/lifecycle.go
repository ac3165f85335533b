package presence

import (
	"context"
	"slices"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// next is the state table of an agent: from each state to those it may report
// after. Every state may be reported again, because an agent repeats what it
// does not know to have arrived; and from every state it may begin anew, when
// its process was killed and started again. (AG-05)
func next(from coder.WorkspaceAgentLifecycle) []coder.WorkspaceAgentLifecycle {
	const (
		off             = coder.WorkspaceAgentLifecycleOff
		ready           = coder.WorkspaceAgentLifecycleReady
		shutdownError   = coder.WorkspaceAgentLifecycleShutdownError
		shutdownTimeout = coder.WorkspaceAgentLifecycleShutdownTimeout
		shuttingDown    = coder.WorkspaceAgentLifecycleShuttingDown
		startError      = coder.WorkspaceAgentLifecycleStartError
		startTimeout    = coder.WorkspaceAgentLifecycleStartTimeout
		starting        = coder.WorkspaceAgentLifecycleStarting
	)
	switch from {
	case coder.WorkspaceAgentLifecycleCreated:
		return []coder.WorkspaceAgentLifecycle{starting, shuttingDown, off}
	case starting:
		return []coder.WorkspaceAgentLifecycle{startTimeout, startError, ready, shuttingDown, off}
	case startTimeout:
		return []coder.WorkspaceAgentLifecycle{startError, ready, shuttingDown, off, starting}
	case startError, ready:
		return []coder.WorkspaceAgentLifecycle{shuttingDown, off, starting}
	case shuttingDown:
		return []coder.WorkspaceAgentLifecycle{shutdownTimeout, shutdownError, off, starting}
	case shutdownTimeout:
		return []coder.WorkspaceAgentLifecycle{shutdownError, off, starting}
	case shutdownError:
		return []coder.WorkspaceAgentLifecycle{off, starting}
	case off:
		return []coder.WorkspaceAgentLifecycle{starting}
	}
	return nil
}

// SetLifecycle takes a state that an agent reports. The error is CodeInvalid
// for a state that is unknown and CodeConflict for one that cannot follow.
func (s *Service) SetLifecycle(ctx context.Context, a Agent, state coder.WorkspaceAgentLifecycle, at time.Time) error {
	if next(state) == nil || state == coder.WorkspaceAgentLifecycleCreated {
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
		if !slices.Contains(next(from), state) {
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
