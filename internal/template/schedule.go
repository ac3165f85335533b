package template

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/calendar"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// atOnce is of how many workspaces one statement sets the next start.
const atOnce = 1000

// reschedule makes the schedules of a template's workspaces follow its
// settings: when those that are dormant are deleted, and when the others start
// next. What runs keeps its deadline until its next start. (WS-13, WS-18)
func reschedule(ctx context.Context, q *sqlc.Queries, old, t sqlc.Template, now time.Time) error {
	if t.TimeTilDormantAutodeleteMs != old.TimeTilDormantAutodeleteMs {
		if err := q.ScheduleSetDeletes(ctx, now, t.TimeTilDormantAutodeleteMs, t.ID); err != nil {
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
		ids[i] = r.ID // and the zero time, which is never
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
