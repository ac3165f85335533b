package template

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/calendar"
	"github.com/seed-2a7f8fe7/coder/internal/notification"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// atOnce is the number of workspaces whose next start one statement sets.
const atOnce = 1000

// reschedule applies the changed settings of a template to its workspaces: the deletion time
// of dormant workspaces and the next autostart of the others. Running workspaces keep their
// deadline until the next start. (WS-13, WS-18)
func reschedule(ctx context.Context, q *sqlc.Queries, old, t sqlc.Template, now time.Time) error {
	if t.TimeTilDormantAutodeleteMs != old.TimeTilDormantAutodeleteMs {
		if err := q.ScheduleSetDeletes(ctx, now, t.TimeTilDormantAutodeleteMs, t.ID); err != nil {
			return err
		}
		if err := q.NotificationMarkedForDeletion(ctx, notification.WorkspaceMarkedForDeletion, t.ID); err != nil {
			return err
		}
	}
	if t.AllowUserAutostart == old.AllowUserAutostart && slices.Equal(t.AutostartDays, old.AutostartDays) {
		return nil
	}
	rows, err := q.ScheduleOfTemplate(ctx, t.ID)
	if err != nil {
		return err
	}
	ids, starts := make([]uuid.UUID, len(rows)), make([]time.Time, len(rows))
	for i, r := range rows {
		ids[i] = r.ID // the zero time means never
		if weekly, err := calendar.ParseWeekly(r.Schedule); err == nil && t.AllowUserAutostart {
			starts[i], _ = weekly.Next(t.AutostartDays, now)
		}
	}
	for i := 0; i < len(ids); i += atOnce {
		end := min(i+atOnce, len(ids))
		if err := q.ScheduleSetStarts(ctx, ids[i:end], starts[i:end]); err != nil {
			return err
		}
	}
	return nil
}
