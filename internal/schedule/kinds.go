package schedule

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/workspace"
)

// kind is one automatic action on workspaces.
type kind struct {
	what       string
	transition codersdk.WorkspaceTransition
	reason     codersdk.BuildReason
	// pages returns the next due workspaces, none at the end.
	pages func(ctx context.Context) ([]uuid.UUID, error)
	// due checks again whether one of them is due, and advances its timers.
	due func(ctx context.Context, f facts) (bool, error)
	// putOff postpones a workspace whose action fails.
	putOff func(ctx context.Context, id uuid.UUID, now time.Time) error
}

// facts are a locked workspace, its latest build and the status of that build's job.
type facts struct {
	q     *sqlc.Queries
	w     sqlc.Workspace
	build sqlc.WorkspaceBuild
	job   codersdk.ProvisionerJobStatus
	now   time.Time
	log   *slog.Logger
}

func (f facts) transition() codersdk.WorkspaceTransition {
	return codersdk.WorkspaceTransition(f.build.Transition)
}

// building reports whether the latest build is unfinished.
func (f facts) building() bool {
	switch f.job {
	case codersdk.ProvisionerJobStatusPending, codersdk.ProvisionerJobStatusRunning, codersdk.ProvisionerJobStatusCanceling:
		return true
	}
	return false
}

// resting reports whether the retry of a failed action is not due yet.
func (f facts) resting() bool { return f.w.RetryAt != nil && f.w.RetryAt.After(f.now) }

// persons reports whether the workspace belongs to a user. Package prebuild handles prebuilt
// workspaces.
func (f facts) persons(ctx context.Context) (sqlc.ScheduleOwnerRow, bool, error) {
	owner, err := f.q.ScheduleOwner(ctx, f.w.OwnerID)
	return owner, !owner.IsSystem, err
}

// kinds returns all kinds with their current lists. Stops come before starts.
func (s *Service) kinds(now time.Time) []kind {
	q := s.Store.Queries
	stop, auto, dormancy := codersdk.WorkspaceTransitionStop, codersdk.BuildReasonAutostop, codersdk.BuildReasonDormancy
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
			rows, err := q.ScheduleFailed(
				ctx,
				sqlc.ScheduleFailedParams{Since: now.Add(-milliseconds(shortest)), Now: at.Now, After: at.After, AfterID: at.AfterID, MaxRows: at.MaxRows},
			)
			return convert(rows, func(r sqlc.ScheduleFailedRow) cursorRow { return cursorRow(r) }), err
		}), dueFailed, postpone},
		{"stop again", stop, auto, timed(now, func(ctx context.Context, at cursor) ([]cursorRow, error) {
			rows, err := q.ScheduleRetries(ctx, sqlc.ScheduleRetriesParams(at))
			return convert(rows, func(r sqlc.ScheduleRetriesRow) cursorRow { return cursorRow(r) }), err
		}), dueRetry, postpone},
		{"start by schedule", codersdk.WorkspaceTransitionStart, codersdk.BuildReasonAutostart, timed(now, func(ctx context.Context, at cursor) ([]cursorRow, error) {
			rows, err := q.ScheduleStarts(ctx, sqlc.ScheduleStartsParams(at))
			return convert(rows, func(r sqlc.ScheduleStartsRow) cursorRow { return cursorRow(r) }), err
		}), dueStart, s.skipStart},
		{"become dormant", stop, dormancy, s.unused(now), dueDormant, postpone},
		{"be deleted", codersdk.WorkspaceTransitionDelete, dormancy, timed(now, func(ctx context.Context, at cursor) ([]cursorRow, error) {
			rows, err := q.ScheduleDeletes(ctx, sqlc.ScheduleDeletesParams(at))
			return convert(rows, func(r sqlc.ScheduleDeletesRow) cursorRow { return cursorRow(r) }), err
		}), dueDelete, postpone},
	}
}

// dueStart decides on an autostart and sets the next one. There is one attempt for each scheduled
// time. An unfinished build delays the attempt. (WS-13)
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
		why = "the schedule has changed"
	case f.now.Sub(moment) > late:
		why = "its scheduled time was more than an hour ago"
	case owner.DeletedAt != nil || owner.Status != string(codersdk.UserStatusActive):
		why = "its owner is not active"
	case !f.build.CreatedAt.Before(moment):
		why = "it was built in the meantime"
	case f.building():
		return false, nil
	case f.transition() == codersdk.WorkspaceTransitionDelete:
		why = "it will be deleted"
	case f.transition() == codersdk.WorkspaceTransitionStart && f.job == codersdk.ProvisionerJobStatusSucceeded:
		why = "it is already running"
	}
	if why != "" {
		f.log.Info("skipped the autostart of a workspace", "due", moment, "why", why)
	}
	return why == "", f.q.WorkspaceSetNextStart(ctx, workspace.NextStart(t, f.w, f.now), f.w.ID)
}

// skipStart skips an autostart that cannot be performed.
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

// dueStop decides on an autostop at the deadline. (WS-14, WS-16)
func dueStop(ctx context.Context, f facts) (bool, error) {
	if f.transition() != codersdk.WorkspaceTransitionStart || f.building() || f.build.Deadline == nil || f.build.Deadline.After(f.now) || f.resting() {
		return false, nil
	}
	_, person, err := f.persons(ctx)
	return person, err
}

// dueFailed decides on the stop after a failed start. (WS-17)
func dueFailed(ctx context.Context, f facts) (bool, error) {
	if f.transition() != codersdk.WorkspaceTransitionStart || f.job != codersdk.ProvisionerJobStatusFailed || f.build.FailedAt == nil || f.resting() {
		return false, nil
	}
	t, err := f.q.WorkspaceTemplate(ctx, f.w.TemplateID)
	if err != nil || t.FailureTtlMs <= 0 || f.build.FailedAt.Add(milliseconds(t.FailureTtlMs)).After(f.now) {
		return false, err
	}
	_, person, err := f.persons(ctx)
	return person, err
}

// dueRetry decides on the retry of a failed automatic stop.
func dueRetry(ctx context.Context, f facts) (bool, error) {
	reason := codersdk.BuildReason(f.build.Reason)
	automatic := reason == codersdk.BuildReasonAutostop || reason == codersdk.BuildReasonDormancy
	if f.transition() != codersdk.WorkspaceTransitionStop || !automatic || f.job != codersdk.ProvisionerJobStatusFailed || f.w.RetryAt == nil || f.resting() {
		return false, nil
	}
	_, person, err := f.persons(ctx)
	return person, err
}

// dueDormant makes an unused workspace dormant and stops it if it is running. (WS-18)
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
	f.log.Info("made an unused workspace dormant", "last_used", f.w.LastUsedAt)
	return f.transition() == codersdk.WorkspaceTransitionStart, nil
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
