// Package dormancy makes inactive users dormant.
package dormancy

import (
	"context"
	"log/slog"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// After is the inactivity after which an active user becomes dormant. The next
// sign-in activates the user again. (AU-09)
const After = 90 * 24 * time.Hour

// dormantAtOnce is the maximum number of users that one transaction makes dormant.
const dormantAtOnce = 100

// Mark makes users dormant who are inactive at the time now.
func Mark(ctx context.Context, store *postgres.Store, log *slog.Logger, now time.Time) error {
	for {
		n := 0
		err := store.Tx(ctx, func(q *sqlc.Queries) error {
			away, err := q.UsersAway(ctx, now.Add(-After), dormantAtOnce)
			n = len(away)
			for _, u := range away {
				if err != nil {
					break
				}
				if _, err = q.UpdateUserStatus(ctx, string(codersdk.UserStatusDormant), now, u.ID); err != nil {
					break
				}
				err = audit.Record(ctx, q, access.System(), audit.Entry{
					Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeUser, ResourceID: u.ID, Target: u.Username,
					Diff: audit.Diff(map[string]any{"status": u.Status}, map[string]any{"status": codersdk.UserStatusDormant}),
				})
			}
			return err
		})
		if err != nil || n == 0 {
			return err
		}
		log.InfoContext(ctx, "made inactive users dormant", "users", n)
	}
}
