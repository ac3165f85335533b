package schedule

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// kind is one thing that workspaces do by themselves.
type kind struct {
	what       string
	transition coder.WorkspaceTransition
	reason     coder.BuildReason
	// pages gives the next workspaces that are due, none at the end.
	pages func(ctx context.Context) ([]uuid.UUID, error)
	// due looks once more at one of them, and moves its timers on.
	due func(ctx context.Context, f facts) (bool, error)
	// putOff is for one that cannot do it.
	putOff func(ctx context.Context, id uuid.UUID, now time.Time) error
}

// facts are a locked workspace, its latest build and how that build's job is.
type facts struct {
	q     *sqlc.Queries
	w     sqlc.Workspace
	build sqlc.WorkspaceBuild
	job   coder.ProvisionerJobStatus
	now   time.Time
	log   *slog.Logger
}

func (f facts) transition() coder.WorkspaceTransition {
	return coder.WorkspaceTransition(f.build.Transition)
}

// building says that the latest build is not over.
func (f facts) building() bool {
	switch f.job {
	case coder.ProvisionerJobStatusPending, coder.ProvisionerJobStatusRunning, coder.ProvisionerJobStatusCanceling:
		return true
	}
	return false
}

// resting says that what failed before is not tried again yet.
func (f facts) resting() bool { return f.w.RetryAt != nil && f.w.RetryAt.After(f.now) }

// persons says that the workspace belongs to a person: those that stand ready
// for anybody are looked after elsewhere.
func (f facts) persons(ctx context.Context) (sqlc.ScheduleOwnerRow, bool, error) {
	owner, err := f.q.ScheduleOwner(ctx, f.w.OwnerID)
	return owner, !owner.IsSystem, err
}

// kinds are all of them, with the lists of this moment. What costs nothing any
// more goes before what costs anew.
func (s *Service) kinds(now time.Time) []kind {
	q := s.Store.Queries
	stop, auto, dormancy := coder.WorkspaceTransitionStop, coder.BuildReasonAutostop, coder.BuildReasonDormancy
	postpone := func(ctx context.Context, id uuid.UUID, now time.Time) error { return q.SchedulePostpone(ctx, now, id) }
	return []kind{
		{"stop at the deadline", stop, auto, timed(now, func(ctx context.Context, at cursor) ([]cursorRow, error) {
			rows, err := q.ScheduleStops(ctx, sqlc.ScheduleStopsParams(at))
			return convert(rows, func(r sqlc.ScheduleStopsRow) cursorRow { return cursorRow(r) }), err
		}), dueStop, postpone},
		{"stop after a failed start", stop, auto, timed(now, func(ctx context.Context, at cursor) ([]cursorRow, error) {
			shortest, err := q.ScheduleFailureTTL(ctx)
			if err != nil || shortest == 0 {
				return nil, err
			}
			rows, err := q.ScheduleFailed(ctx, sqlc.ScheduleFailedParams{Since: now.Add(-milliseconds(shortest)), Now: at.Now, After: at.After, AfterID: at.AfterID, MaxRows: at.MaxRows})
			return convert(rows, func(r sqlc.ScheduleFailedRow) cursorRow { return cursorRow(r) }), err
		}), dueFailed, postpone},
		{"stop again", stop, auto, timed(now, func(ctx context.Context, at cursor) ([]cursorRow, error) {
			rows, err := q.ScheduleRetries(ctx, sqlc.ScheduleRetriesParams(at))
			return convert(rows, func(r sqlc.ScheduleRetriesRow) cursorRow { return cursorRow(r) }), err
		}), dueRetry, postpone},
		{"start by schedule", coder.WorkspaceTransitionStart, coder.BuildReasonAutostart, timed(now, func(ctx context.Context, at cursor) ([]cursorRow, error) {
			rows, err := q.ScheduleStarts(ctx, sqlc.ScheduleStartsParams(at))
			return convert(rows, func(r sqlc.ScheduleStartsRow) cursorRow { return cursorRow(r) }), err
		}), dueStart, s.skipStart},
		{"become dormant", stop, dormancy, s.unused(now), dueDormant, postpone},
		{"be deleted", coder.WorkspaceTransitionDelete, dormancy, timed(now, func(ctx context.Context, at cursor) ([]cursorRow, error) {
			rows, err := q.ScheduleDeletes(ctx, sqlc.ScheduleDeletesParams(at))
			return convert(rows, func(r sqlc.ScheduleDeletesRow) cursorRow { return cursorRow(r) }), err
		}), dueDelete, postpone},
	}
}

// dueStart decides on a start, and sets the next: there is one try for each
// moment. While an earlier build runs, the moment waits for its end. (WS-13)
func dueStart(ctx context.Context, f facts) (bool, error) {
	if f.w.NextStartAt == nil || f.w.NextStartAt.After(f.now) {
		return false, nil
	}
	t, err := f.q.WorkspaceTemplate(ctx, f.w.TemplateID)
	if err != nil {
		return false, err
	}
	owner, person, err := f.persons(ctx)
	if err != nil {
		return false, err
	}
	moment := *f.w.NextStartAt
	meant := workspace.NextStart(t, f.w, moment.Add(-time.Second))
	why := ""
	switch {
	case !person || meant == nil || !meant.Equal(moment):
		why = "the schedule does not say so any more"
	case f.now.Sub(moment) > late:
		why = "its time was more than an hour ago"
	case owner.DeletedAt != nil || owner.Status != string(coder.UserStatusActive):
		why = "its owner is not active"
	case !f.build.CreatedAt.Before(moment):
		why = "it was built since"
	case f.building():
		return false, nil
	case f.transition() == coder.WorkspaceTransitionDelete:
		why = "it is to be deleted"
	case f.transition() == coder.WorkspaceTransitionStart && f.job == coder.ProvisionerJobStatusSucceeded:
		why = "it runs already"
	}
	if why != "" {
		f.log.Info("a workspace is not started by its schedule", "due", moment, "why", why)
	}
	return why == "", f.q.WorkspaceSetNextStart(ctx, workspace.NextStart(t, f.w, f.now), f.w.ID)
}

// skipStart leaves a start out that cannot be made.
func (s *Service) skipStart(ctx context.Context, id uuid.UUID, now time.Time) error {
	return s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		w, err := q.WorkspaceForUpdate(ctx, id)
		if err != nil || w.NextStartAt == nil || w.NextStartAt.After(now) {
			return err
		}
		t, err := q.WorkspaceTemplate(ctx, w.TemplateID)
		if err != nil {
			return err
		}
		return q.WorkspaceSetNextStart(ctx, workspace.NextStart(t, w, now), id)
	})
}

// dueStop decides on a stop at the deadline. (WS-14, WS-16)
func dueStop(ctx context.Context, f facts) (bool, error) {
	if f.transition() != coder.WorkspaceTransitionStart || f.building() || f.build.Deadline == nil || f.build.Deadline.After(f.now) || f.resting() {
		return false, nil
	}
	_, person, err := f.persons(ctx)
	return person, err
}

// dueFailed decides on the stop of what a failed start left. (WS-17)
func dueFailed(ctx context.Context, f facts) (bool, error) {
	if f.transition() != coder.WorkspaceTransitionStart || f.job != coder.ProvisionerJobStatusFailed || f.build.FailedAt == nil || f.resting() {
		return false, nil
	}
	t, err := f.q.WorkspaceTemplate(ctx, f.w.TemplateID)
	if err != nil || t.FailureTtlMs <= 0 || f.build.FailedAt.Add(milliseconds(t.FailureTtlMs)).After(f.now) {
		return false, err
	}
	_, person, err := f.persons(ctx)
	return person, err
}

// dueRetry decides on another try of an automatic stop that failed.
func dueRetry(ctx context.Context, f facts) (bool, error) {
	reason := coder.BuildReason(f.build.Reason)
	automatic := reason == coder.BuildReasonAutostop || reason == coder.BuildReasonDormancy
	if f.transition() != coder.WorkspaceTransitionStop || !automatic || f.job != coder.ProvisionerJobStatusFailed || f.w.RetryAt == nil || f.resting() {
		return false, nil
	}
	_, person, err := f.persons(ctx)
	return person, err
}

// dueDormant makes a workspace dormant that nobody uses, and has it stopped if
// it is not. (WS-18)
func dueDormant(ctx context.Context, f facts) (bool, error) {
	if f.w.DormantAt != nil || f.building() || f.resting() {
		return false, nil
	}
	t, err := f.q.WorkspaceTemplate(ctx, f.w.TemplateID)
	if err != nil || t.TimeTilDormantMs <= 0 || f.w.LastUsedAt.Add(milliseconds(t.TimeTilDormantMs)).After(f.now) {
		return false, err
	}
	if _, person, err := f.persons(ctx); err != nil || !person {
		return false, err
	}
	if err := workspace.MakeDormant(ctx, f.q, f.w, t, f.now); err != nil {
		return false, err
	}
	f.log.Info("a workspace that nobody used is dormant now", "last_used", f.w.LastUsedAt)
	return f.transition() == coder.WorkspaceTransitionStart, nil
}

// dueDelete decides on the deletion of a dormant workspace. (WS-18)
func dueDelete(ctx context.Context, f facts) (bool, error) {
	if f.w.DormantAt == nil || f.w.DeletingAt == nil || f.w.DeletingAt.After(f.now) || f.building() || f.resting() {
		return false, nil
	}
	_, person, err := f.persons(ctx)
	return person, err
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
