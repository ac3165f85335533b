package identity

import (
	"context"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// Sessions lists the sessions of a user that have not ended, the one used last
// first.
func (s *Service) Sessions(ctx context.Context, actor access.Subject, ref string, page coder.Page) ([]coder.Session, error) {
	u, err := s.keyOwner(ctx, actor, ref, coder.RBACActionRead)
	if err != nil {
		return nil, err
	}
	rows, err := s.c.Store.Sessions(ctx, sqlc.SessionsParams{UserID: u.ID, Now: s.now(), RowLimit: page.Rows(maxRows), RowOffset: page.Skip()})
	out := make([]coder.Session, len(rows))
	for i, r := range rows {
		out[i] = coder.Session{
			ID: r.ID, Current: r.ID == actor.KeyID, LoginType: coder.LoginType(r.LoginType), UserAgent: r.UserAgent,
			CreatedAt: r.CreatedAt, LastUsed: r.LastUsedAt, ExpiresAt: r.ExpiresAt,
		}
		if r.IPAddress != nil {
			out[i].IPAddress = r.IPAddress.String()
		}
	}
	return out, err
}

// EndSessions ends the sessions of a user but for the one that the actor came
// with. API tokens stay.
func (s *Service) EndSessions(ctx context.Context, actor access.Subject, ref string) error {
	u, err := s.keyOwner(ctx, actor, ref, coder.RBACActionDelete)
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
			Action: coder.AuditActionDelete, ResourceType: coder.ResourceTypeAPIKey, Target: u.Username, Fields: map[string]any{"sessions": "all others"},
		})
	})
	if err == nil {
		s.changedRights(u.ID)
	}
	return err
}
