package identity

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // schedules name zones that the machine may not know

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// usualQuietHours is when workspaces may be stopped where nobody says otherwise.
const usualQuietHours = "CRON_TZ=UTC 0 0 * * *"

// daily is a time of every day.
type daily struct {
	hour, minute int
	zone         *time.Location
}

// parseDaily reads "CRON_TZ=Europe/Lisbon 30 22 * * *"; without a zone it is UTC.
func parseDaily(text string) (daily, error) {
	d := daily{zone: time.UTC}
	if len(text) > 255 {
		return d, coder.Invalid("schedule", "is longer than 255 characters")
	}
	fields := strings.Fields(text)
	if len(fields) > 0 {
		if name, ok := strings.CutPrefix(fields[0], "CRON_TZ="); ok {
			zone, err := time.LoadLocation(name)
			if err != nil || name == "" || name == "Local" {
				return d, coder.Invalid("schedule", "%.80q is not a time zone such as Europe/Lisbon", name)
			}
			d.zone, fields = zone, fields[1:]
		}
	}
	if len(fields) != 5 || fields[2] != "*" || fields[3] != "*" || fields[4] != "*" {
		return d, coder.Invalid("schedule", "%.80q must be a zone, a minute, an hour and three stars, such as CRON_TZ=Europe/Lisbon 30 22 * * *", text)
	}
	var err1, err2 error
	d.minute, err1 = strconv.Atoi(fields[0])
	d.hour, err2 = strconv.Atoi(fields[1])
	if err1 != nil || err2 != nil || d.minute < 0 || d.minute > 59 || d.hour < 0 || d.hour > 23 {
		return d, coder.Invalid("schedule", "%.80q must name one minute from 0 to 59 and one hour from 0 to 23", text)
	}
	return d, nil
}

// next gives the first such time after now.
func (d daily) next(now time.Time) time.Time {
	y, m, day := now.In(d.zone).Date()
	for i := 0; ; i++ {
		if t := time.Date(y, m, day+i, d.hour, d.minute, 0, 0, d.zone); t.After(now) {
			return t
		}
	}
}

// CheckQuietHours refuses a schedule that quiet hours cannot have.
func CheckQuietHours(schedule string) error {
	_, err := parseDaily(schedule)
	return err
}

func (s *Service) quietHours(u sqlc.User) (coder.UserQuietHoursScheduleResponse, error) {
	raw := u.QuietHours
	if raw == "" || s.c.NoCustomQuietHours {
		raw = s.c.QuietHours
	}
	d, err := parseDaily(raw)
	if err != nil {
		return coder.UserQuietHoursScheduleResponse{}, fmt.Errorf("quiet hours of %s: %w", u.Username, err)
	}
	return coder.UserQuietHoursScheduleResponse{
		Next: d.next(s.now()), RawSchedule: raw, Time: fmt.Sprintf("%02d:%02d", d.hour, d.minute), Timezone: d.zone.String(),
		UserCanSet: !s.c.NoCustomQuietHours, UserSet: u.QuietHours != "" && !s.c.NoCustomQuietHours,
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
	if s.c.NoCustomQuietHours {
		return none, coder.Errorf(coder.CodeForbidden, "People cannot choose their own quiet hours on this deployment")
	}
	schedule := strings.Join(strings.Fields(req.Schedule), " ")
	if schedule != "" {
		if err := CheckQuietHours(schedule); err != nil {
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
