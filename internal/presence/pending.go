package presence

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// AuthenticateLogs is AuthenticateAgent for log sources beside the agent: it also accepts agents of
// running builds. Such an agent has no ID yet; AppendLogs and PutLogSource store the data until the
// build finishes.
func (s *Service) AuthenticateLogs(ctx context.Context, token string) (Agent, error) {
	a, err := s.AuthenticateAgent(ctx, token)
	if !codersdk.Is(err, codersdk.CodeUnauthenticated) {
		return a, err
	}
	id, invalid := uuid.Parse(strings.TrimSpace(token))
	if invalid != nil || id == uuid.Nil {
		return a, err
	}
	p, unknown := s.store.PendingAgent(ctx, id)
	if codersdk.Is(unknown, codersdk.CodeNotFound) {
		return a, err
	}
	if unknown != nil {
		return a, unknown
	}
	return Agent{
		pending: p.Token, token: id, JobID: p.JobID, BuildID: p.BuildID, WorkspaceID: p.WorkspaceID, WorkspaceName: p.WorkspaceName,
		OwnerID: p.OwnerID, OrganizationID: p.OrganizationID,
	}, nil
}

// appendPending is AppendLogs for an agent of a running build. The error is CodeNotFound if the build
// has finished in the meantime.
func (s *Service) appendPending(ctx context.Context, a Agent, source uuid.UUID, lines logColumns) (overflowed bool, err error) {
	err = s.store.Tx(ctx, func(q *sqlc.Queries) error {
		row, err := q.PendingAgentLogsForUpdate(ctx, a.pending)
		if err != nil {
			return err
		}
		if overflowed = row.LogsOverflowed; overflowed || lines.len() == 0 {
			return nil
		}
		fit, length := lines.fitting(row.LogsLength)
		overflowed = fit.len() < lines.len()
		if fit.len() > 0 {
			err := q.PendingAgentAppendLogs(ctx, sqlc.PendingAgentAppendLogsParams{
				Token: a.pending, SourceID: source, CreatedAt: fit.times, Level: fit.levels, Output: fit.outputs,
			})
			if err != nil {
				return err
			}
		}
		return q.PendingAgentSetLogs(ctx, a.pending, length, overflowed)
	})
	return overflowed, err
}

// putPendingLogSource is PutLogSource for an agent of a running build. The error is CodeNotFound if
// the build has finished in the meantime.
func (s *Service) putPendingLogSource(ctx context.Context, a Agent, src codersdk.WorkspaceAgentLogSource) error {
	return s.store.Tx(ctx, func(q *sqlc.Queries) error {
		if _, err := q.PendingAgentLogsForUpdate(ctx, a.pending); err != nil {
			return err
		}
		return q.PendingAgentPutLogSource(ctx, sqlc.PendingAgentPutLogSourceParams{
			Token: a.pending, ID: src.ID, DisplayName: src.DisplayName, Icon: src.Icon, Now: src.CreatedAt,
		})
	})
}
