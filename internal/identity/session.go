package identity

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Sessions lists the valid sessions of a user, the most recently used first.
func (s *Service) Sessions(ctx context.Context, actor access.Subject, ref string, page codersdk.Page) ([]codersdk.Session, error) {
	u, err := s.keyOwner(ctx, actor, ref, codersdk.RBACActionRead)
	if err != nil {
		return nil, err
	}
	rows, err := s.c.Store.Sessions(ctx, sqlc.SessionsParams{UserID: u.ID, Now: s.now(), RowLimit: page.Rows(maxRows), RowOffset: page.Skip()})
	out := make([]codersdk.Session, len(rows))
	for i, r := range rows {
		out[i] = codersdk.Session{
			ID: r.ID, Current: r.ID == actor.KeyID, LoginType: codersdk.LoginType(r.LoginType), UserAgent: r.UserAgent,
			CreatedAt: r.CreatedAt, LastUsed: r.LastUsedAt, ExpiresAt: r.ExpiresAt,
		}
		if r.IPAddress != nil {
			out[i].IPAddress = r.IPAddress.String()
		}
	}
	return out, err
}

// EndSessions ends all sessions of a user except the actor's own. API tokens stay
// valid.
func (s *Service) EndSessions(ctx context.Context, actor access.Subject, ref string) error {
	u, err := s.keyOwner(ctx, actor, ref, codersdk.RBACActionDelete)
	if err != nil {
		return err
	}
	if err := protectOwner(actor, u); err != nil {
		return err
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.DeleteOtherSessions(ctx, u.ID, actor.KeyID); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: codersdk.AuditActionDelete, ResourceType: codersdk.ResourceTypeAPIKey, Target: u.Username, Fields: map[string]any{"sessions": "all others"},
		})
	})
	if err == nil {
		s.changedRights(u.ID)
	}
	return err
}
