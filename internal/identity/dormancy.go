package identity

import (
	"context"
	"time"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// awayFor is how long an active user is away before they count as dormant; the
// next login makes them active again. (AU-09)
const awayFor = 90 * 24 * time.Hour

// dormantAtOnce bounds how many users become dormant in one transaction.
const dormantAtOnce = 100

// MarkDormant makes users dormant who have been away for long.
func (s *Service) MarkDormant(ctx context.Context) error {
	for {
		n := 0
		err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
			away, err := q.UsersAway(ctx, s.now().Add(-awayFor), dormantAtOnce)
			n = len(away)
			for _, u := range away {
				if err != nil {
					break
				}
				if _, err = q.UpdateUserStatus(ctx, string(coder.UserStatusDormant), s.now(), u.ID); err != nil {
					break
				}
				err = audit.Record(ctx, q, access.System(), audit.Entry{
					Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeUser, ResourceID: u.ID, Target: u.Username,
					Diff: audit.Diff(map[string]any{"status": u.Status}, map[string]any{"status": coder.UserStatusDormant}),
				})
			}
			return err
		})
		if err != nil || n == 0 {
			return err
		}
		s.log.Info("users who were long away are dormant now", "users", n)
	}
}
