package schedule

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// cursor is a position in a list: a time and an ID, in the form of the queries.
type cursor struct {
	Now, After time.Time
	AfterID    uuid.UUID
	MaxRows    int32
}

// cursorRow is a workspace and the time from which it is due.
type cursorRow struct {
	ID uuid.UUID
	At time.Time
}

func convert[A, B any](list []A, f func(A) B) []B {
	out := make([]B, len(list))
	for i, x := range list {
		out[i] = f(x)
	}
	return out
}

// timed returns the pages of a list that is ordered by time.
func timed(now time.Time, list func(context.Context, cursor) ([]cursorRow, error)) func(context.Context) ([]uuid.UUID, error) {
	at := cursor{Now: now, MaxRows: page}
	return func(ctx context.Context) ([]uuid.UUID, error) {
		rows, err := list(ctx, at)
		if err != nil || len(rows) == 0 {
			return nil, err
		}
		last := rows[len(rows)-1]
		at.After, at.AfterID = last.At, last.ID
		return convert(rows, func(r cursorRow) uuid.UUID { return r.ID }), nil
	}
}

// unused returns the pages of workspaces that were not used for the period that their templates
// allow, one template after the other.
func (s *Service) unused(now time.Time) func(context.Context) ([]uuid.UUID, error) {
	var templates []sqlc.ScheduleDormanciesRow
	var at sqlc.ScheduleUnusedParams
	known := false
	return func(ctx context.Context) ([]uuid.UUID, error) {
		if !known {
			var err error
			if templates, err = s.Store.ScheduleDormancies(ctx); err != nil {
				return nil, err
			}
			known = true
		}
		for ; len(templates) > 0; templates, at = templates[1:], (sqlc.ScheduleUnusedParams{}) {
			t := templates[0]
			if at.MaxRows == 0 {
				at = sqlc.ScheduleUnusedParams{TemplateID: t.ID, Since: now.Add(-milliseconds(t.TimeTilDormantMs)), Now: now, MaxRows: page, AfterDay: -1 << 31}
			}
			rows, err := s.Store.ScheduleUnused(ctx, at)
			if err != nil {
				return nil, err
			}
			if len(rows) > 0 {
				last := rows[len(rows)-1]
				at.AfterDay, at.AfterID = last.LastUsedDay, last.ID
				return convert(rows, func(r sqlc.ScheduleUnusedRow) uuid.UUID { return r.ID }), nil
			}
		}
		return nil, nil
	}
}
