package app

import (
	"context"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Bounds of what an app may say.
const (
	maxStatusMessage = 160
	maxStatusURI     = 2048
	keptStatuses     = 50
)

// SetStatus keeps what an app of an agent says it is doing. (AG-27)
func (s *Service) SetStatus(ctx context.Context, agentID, workspaceID uuid.UUID, req coder.PatchAppStatus) error {
	switch req.State {
	case coder.WorkspaceAppStatusStateWorking, coder.WorkspaceAppStatusStateIdle, coder.WorkspaceAppStatusStateComplete, coder.WorkspaceAppStatusStateFailure:
	default:
		return coder.Invalid("state", "%.20q is none of working, idle, complete, failure", req.State)
	}
	if utf8.RuneCountInString(req.Message) > maxStatusMessage {
		return coder.Invalid("message", "it is longer than %d characters", maxStatusMessage)
	}
	if u, err := url.Parse(req.URI); err != nil || len(req.URI) > maxStatusURI || req.URI != "" && u.Scheme == "" {
		return coder.Invalid("uri", "give a URL with its scheme, of at most %d bytes", maxStatusURI)
	}
	apps, err := s.c.Store.AppBySlug(ctx, []uuid.UUID{agentID}, req.AppSlug)
	if err != nil {
		return err
	}
	if len(apps) == 0 {
		return coder.Invalid("app_slug", "this agent has no app %.64q", req.AppSlug)
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		err := q.AppInsertStatus(ctx, sqlc.AppInsertStatusParams{
			ID: uuid.New(), AppID: apps[0].ID, AgentID: agentID, WorkspaceID: workspaceID, State: string(req.State),
			Message: strings.ToValidUTF8(req.Message, "\uFFFD"), Uri: req.URI, CreatedAt: s.now(),
		})
		if err != nil {
			return err
		}
		return q.AppTrimStatuses(ctx, apps[0].ID, keptStatuses)
	})
	if err == nil {
		s.c.Hub.Publish(notify.Workspace(workspaceID))
	}
	return err
}
