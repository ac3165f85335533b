package workspace

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/event"
)

// automaticClass is the queue class of automatic builds, after the builds that users
// requested.
const automaticClass = 1

// Due checks a live workspace whose row is locked, and its latest build, and reports
// whether the build is still wanted. Its changes with q are committed with the build,
// and also if no build is wanted; an error rolls them back. It is called again if the
// transaction is retried.
type Due func(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, latest sqlc.BuildLatestRow) (bool, error)

// BuildAutomatically requests a build that no user requested and returns its ID. The
// owner is the initiator, the audit log names no user, and the job runs after the jobs
// of users. A start uses the active version if the template or the workspace requires
// it, and the parameter values of the previous build.
//
// The decision and the build are one transaction: due decides; nil means always. The ID
// is Nil without an error if due wants no build, if the workspace was deleted, or if
// another transaction holds its row. So of any number of concurrent callers one builds
// and none waits. CodeConflict means an unfinished build or the start of a dormant
// workspace; CodeInvalid means that a parameter has no valid value. (WS-13 to WS-18)
func (s *Service) BuildAutomatically(
	ctx context.Context,
	workspaceID uuid.UUID,
	transition codersdk.WorkspaceTransition,
	reason codersdk.BuildReason,
	due Due,
) (uuid.UUID, error) {
	var made uuid.UUID
	var w sqlc.Workspace
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		made = uuid.Nil
		var err error
		if w, err = q.ScheduleLock(ctx, workspaceID); codersdk.Is(err, codersdk.CodeNotFound) {
			return nil
		} else if err != nil {
			return err
		}
		latest, err := q.BuildLatest(ctx, workspaceID)
		if err != nil {
			return err
		}
		if due != nil {
			if wanted, err := due(ctx, q, w, latest); err != nil || !wanted {
				return err
			}
			if w, err = q.WorkspaceForUpdate(ctx, workspaceID); err != nil { // due may have changed the row
				return err
			}
		}
		p, err := s.planAutomatic(ctx, q, w, latest, transition, reason)
		if err != nil {
			return err
		}
		if made, err = s.addBuild(ctx, q, access.System(), p); err != nil {
			return err
		}
		return notifyUpdated(ctx, q, access.System(), p)
	})
	if err != nil {
		return uuid.Nil, err
	}
	if made != uuid.Nil {
		s.Queue.Wake(w.OrganizationID)
	}
	if w.ID != uuid.Nil {
		s.Hub.Publish(notify.Workspace(w.ID))
	}
	return made, nil
}

// planAutomatic plans the next build of a locked workspace.
func (s *Service) planAutomatic(
	ctx context.Context,
	q *sqlc.Queries,
	w sqlc.Workspace,
	latest sqlc.BuildLatestRow,
	transition codersdk.WorkspaceTransition,
	reason codersdk.BuildReason,
) (plan, error) {
	req := codersdk.CreateWorkspaceBuildRequest{Transition: transition}
	if transition == codersdk.WorkspaceTransitionStart {
		t, err := q.WorkspaceTemplate(ctx, w.TemplateID)
		if err != nil {
			return plan{}, err
		}
		if followsActive(t, w) {
			req.TemplateVersionID = t.ActiveVersionID
		}
	}
	p, err := s.planAfter(ctx, q, access.System(), w, latest, req)
	p.reason = reason
	return p, err
}

// MakeDormant makes a workspace whose row is locked dormant, in transaction q, because
// it is unused. It no longer starts automatically, and is deleted when its template
// requires it. The caller stops it. (WS-18)
func MakeDormant(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, t sqlc.Template, now time.Time) error {
	before := audited(w)
	if err := rest(ctx, q, &w, t, true, now); err != nil {
		return err
	}
	if err := event.Dormant(ctx, q, access.System(), w, "it was not used"); err != nil {
		return err
	}
	return audit.Record(ctx, q, access.System(), audit.Entry{
		Action: codersdk.AuditActionWrite, ResourceType: codersdk.ResourceTypeWorkspace, ResourceID: w.ID,
		OrganizationID: w.OrganizationID, Target: w.Name, Icon: t.Icon, Diff: audit.Diff(before, audited(w)),
		Fields: map[string]any{"workspace_name": w.Name, "workspace_id": w.ID, "build_reason": codersdk.BuildReasonDormancy},
	})
}

// failed records that a build failed or was canceled, and the time. Automatic stops and
// deletes are retried.
func (s *Service) failed(ctx context.Context, q *sqlc.Queries, buildID uuid.UUID) error {
	b, err := q.BuildByID(ctx, buildID)
	if err != nil {
		return err
	}
	now := s.now()
	if err := q.ScheduleBuildFailed(ctx, now, b.ID); err != nil {
		return err
	}
	if b.Transition == string(codersdk.WorkspaceTransitionStart) ||
		b.Reason != string(codersdk.BuildReasonAutostop) && b.Reason != string(codersdk.BuildReasonDormancy) {
		return nil
	}
	return q.SchedulePostpone(ctx, now, b.WorkspaceID)
}

// followsActive reports whether starts of a workspace use the active version.
func followsActive(t sqlc.Template, w sqlc.Workspace) bool {
	return t.RequireActiveVersion || w.AutomaticUpdates == string(codersdk.AutomaticUpdatesAlways)
}

// onBehalf returns the initiator of a build and the queue class of its job.
func onBehalf(actor access.Subject, w sqlc.Workspace) (initiator uuid.UUID, class int16) {
	if actor.System {
		return w.OwnerID, automaticClass
	}
	return actor.UserID, 0
}
