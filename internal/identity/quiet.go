package identity

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/calendar"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

func (s *Service) quietHours(u sqlc.User) (codersdk.UserQuietHoursScheduleResponse, error) {
	raw, own := s.c.Quiet.Of(u.QuietHours)
	d, err := calendar.ParseDaily(raw)
	if err != nil {
		return codersdk.UserQuietHoursScheduleResponse{}, fmt.Errorf("quiet hours of %s: %w", u.Username, err)
	}
	return codersdk.UserQuietHoursScheduleResponse{
		Next: d.Next(s.now()), RawSchedule: raw, Time: fmt.Sprintf("%02d:%02d", d.Hour, d.Minute), Timezone: d.Zone.String(),
		UserCanSet: !s.c.Quiet.Fixed, UserSet: own,
	}, nil
}

// QuietHours returns the time of day at which workspaces of a user that must be
// stopped are stopped. (AU-19)
func (s *Service) QuietHours(ctx context.Context, actor access.Subject, ref string) (codersdk.UserQuietHoursScheduleResponse, error) {
	u, err := s.personal(ctx, actor, ref, codersdk.RBACActionReadPersonal)
	if err != nil {
		return codersdk.UserQuietHoursScheduleResponse{}, err
	}
	return s.quietHours(u)
}

// UpdateQuietHours sets the quiet hours of a user. An empty schedule restores the
// deployment's default.
func (s *Service) UpdateQuietHours(
	ctx context.Context,
	actor access.Subject,
	ref string,
	req codersdk.UpdateUserQuietHoursScheduleRequest,
) (codersdk.UserQuietHoursScheduleResponse, error) {
	var none codersdk.UserQuietHoursScheduleResponse
	u, err := s.personal(ctx, actor, ref, codersdk.RBACActionUpdatePersonal)
	if err != nil {
		return none, err
	}
	if s.c.Quiet.Fixed {
		return none, codersdk.Errorf(codersdk.CodeForbidden, "Users cannot change their quiet hours on this deployment")
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
			Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeUser, ResourceID: u.ID, Target: u.Username,
			Diff: audit.Diff(map[string]any{"quiet_hours_schedule": old.QuietHours}, map[string]any{"quiet_hours_schedule": schedule}),
		})
	})
	if err != nil {
		return none, err
	}
	return s.quietHours(u)
}
