package workspaceapp

import (
	"context"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Limits of a status.
const (
	maxStatusMessage = 160
	maxStatusURI     = 2048
	keptStatuses     = 50
)

// SetStatus stores the status that an app of an agent reports. (AG-27)
func (s *Service) SetStatus(ctx context.Context, agentID, workspaceID uuid.UUID, req codersdk.PatchAppStatus) error {
	switch req.State {
	case codersdk.WorkspaceAppStatusStateWorking,
		codersdk.WorkspaceAppStatusStateIdle,
		codersdk.WorkspaceAppStatusStateComplete,
		codersdk.WorkspaceAppStatusStateFailure:
	default:
		return codersdk.Invalid("state", "%.20q is not valid; use working, idle, complete or failure", req.State)
	}
	if utf8.RuneCountInString(req.Message) > maxStatusMessage {
		return codersdk.Invalid("message", "is longer than %d characters", maxStatusMessage)
	}
	if u, err := url.Parse(req.URI); err != nil || len(req.URI) > maxStatusURI || req.URI != "" && u.Scheme == "" {
		return codersdk.Invalid("uri", "must be a URL with a scheme, of at most %d bytes", maxStatusURI)
	}
	apps, err := s.c.Store.AppBySlug(ctx, []uuid.UUID{agentID}, req.AppSlug)
	if err != nil {
		return err
	}
	if len(apps) == 0 {
		return codersdk.Invalid("app_slug", "app %.64q not found in this agent", req.AppSlug)
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
