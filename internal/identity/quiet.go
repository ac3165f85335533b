package identity

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/calendar"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

func (s *Service) quietHours(u sqlc.User) (coder.UserQuietHoursScheduleResponse, error) {
	raw, own := s.c.Quiet.Of(u.QuietHours)
	d, err := calendar.ParseDaily(raw)
	if err != nil {
		return coder.UserQuietHoursScheduleResponse{}, fmt.Errorf("quiet hours of %s: %w", u.Username, err)
	}
	return coder.UserQuietHoursScheduleResponse{
		Next: d.Next(s.now()), RawSchedule: raw, Time: fmt.Sprintf("%02d:%02d", d.Hour, d.Minute), Timezone: d.Zone.String(),
		UserCanSet: !s.c.Quiet.Fixed, UserSet: own,
	}, nil
}

// QuietHours says when workspaces of a user that must stop once are stopped. (AU-19)
func (s *Service) QuietHours(ctx context.Context, actor access.Subject, ref string) (coder.UserQuietHoursScheduleResponse, error) {
	u, err := s.personal(ctx, actor, ref, coder.RBACActionReadPersonal)
	if err != nil {
		return coder.UserQuietHoursScheduleResponse{}, err
	}
	return s.quietHours(u)
}

// UpdateQuietHours sets the quiet hours of a user; an empty schedule goes back
// to those of the deployment.
func (s *Service) UpdateQuietHours(ctx context.Context, actor access.Subject, ref string, req coder.UpdateUserQuietHoursScheduleRequest) (coder.UserQuietHoursScheduleResponse, error) {
	var none coder.UserQuietHoursScheduleResponse
	u, err := s.personal(ctx, actor, ref, coder.RBACActionUpdatePersonal)
	if err != nil {
		return none, err
	}
	if s.c.Quiet.Fixed {
		return none, coder.Errorf(coder.CodeForbidden, "People cannot choose their own quiet hours on this deployment")
	}
	schedule := strings.Join(strings.Fields(req.Schedule), " ")
	if schedule != "" {
		if _, err := calendar.ParseDaily(schedule); err != nil {
			return none, err
		}
	}
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		old, err := q.UserByIDForUpdate(ctx, u.ID)
		if err != nil || old.QuietHours == schedule {
			return err
		}
		if u, err = q.UpdateUserQuietHours(ctx, schedule, s.now(), u.ID); err != nil {
			return err
		}
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeUser, ResourceID: u.ID, Target: u.Username,
			Diff: audit.Diff(map[string]any{"quiet_hours_schedule": old.QuietHours}, map[string]any{"quiet_hours_schedule": schedule}),
		})
	})
	if err != nil {
		return none, err
	}
	return s.quietHours(u)
}
