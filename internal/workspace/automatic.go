package workspace

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// automaticClass is where builds that nobody waits for stand in the queue:
// behind those that people asked for.
const automaticClass = 1

// Due looks once more at a live workspace whose row is locked, and at its
// latest build, and says whether the build is still wanted. What it changes
// with q is committed together with the build, and also when it wants none; an
// error undoes it. It may be called again when the transaction is.
type Due func(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, latest sqlc.BuildLatestRow) (bool, error)

// BuildAutomatically asks for a build that nobody asked for by hand, and gives
// its id. The owner counts as its initiator, the audit log names no user, and
// its job goes behind those of people. A start uses the active version where
// the template or the workspace says so, and the values of the build before.
//
// Deciding and building are one transaction: due decides, nil for always. The
// id is Nil, without an error, when due wants no build, when the workspace was
// deleted, and when somebody else holds it at this moment, who may be building
// it; so of any number of callers one builds and none waits. CodeConflict is an
// unfinished build or, of a start, a dormant workspace; CodeInvalid of a start
// is a parameter that has no value that fits. (WS-13 to WS-18)
func (s *Service) BuildAutomatically(ctx context.Context, workspaceID uuid.UUID, transition coder.WorkspaceTransition, reason coder.BuildReason, due Due) (uuid.UUID, error) {
	var made uuid.UUID
	var w sqlc.Workspace
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) error {
		made = uuid.Nil
		var err error
		if w, err = q.ScheduleLock(ctx, workspaceID); coder.Is(err, coder.CodeNotFound) {
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
			if w, err = q.WorkspaceForUpdate(ctx, workspaceID); err != nil { // due may have changed it
				return err
			}
		}
		p, err := s.planAutomatic(ctx, q, w, latest, transition, reason)
		if err != nil {
			return err
		}
		made, err = s.addBuild(ctx, q, access.System(), p)
		return err
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

// planAutomatic works out the next build of a locked workspace.
func (s *Service) planAutomatic(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, latest sqlc.BuildLatestRow, transition coder.WorkspaceTransition, reason coder.BuildReason) (plan, error) {
	req := coder.CreateWorkspaceBuildRequest{Transition: transition}
	if transition == coder.WorkspaceTransitionStart {
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

// MakeDormant makes a workspace dormant whose row is locked, in the transaction
// q, because nobody uses it: it no longer starts by itself, and is deleted when
// its template says so. The caller stops it. (WS-18)
func MakeDormant(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, t sqlc.Template, now time.Time) error {
	before := audited(w)
	if err := rest(ctx, q, &w, t, true, now); err != nil {
		return err
	}
	return audit.Record(ctx, q, access.System(), audit.Entry{
		Action: coder.AuditActionWrite, ResourceType: coder.ResourceTypeWorkspace, ResourceID: w.ID,
		OrganizationID: w.OrganizationID, Target: w.Name, Icon: t.Icon, Diff: audit.Diff(before, audited(w)),
		Fields: map[string]any{"workspace_name": w.Name, "workspace_id": w.ID, "build_reason": coder.BuildReasonDormancy},
	})
}

// failed notes that a build failed or was canceled: when, and, of one that the
// server made to stop or delete a workspace, that it is tried again.
func (s *Service) failed(ctx context.Context, q *sqlc.Queries, buildID uuid.UUID) error {
	b, err := q.BuildByID(ctx, buildID)
	if err != nil {
		return err
	}
	now := s.now()
	if err := q.ScheduleBuildFailed(ctx, now, b.ID); err != nil {
		return err
	}
	if b.Transition == string(coder.WorkspaceTransitionStart) || b.Reason != string(coder.BuildReasonAutostop) && b.Reason != string(coder.BuildReasonDormancy) {
		return nil
	}
	return q.SchedulePostpone(ctx, now, b.WorkspaceID)
}

// followsActive says whether starts of a workspace use the active version.
func followsActive(t sqlc.Template, w sqlc.Workspace) bool {
	return t.RequireActiveVersion || w.AutomaticUpdates == string(coder.AutomaticUpdatesAlways)
}

// onBehalf gives who counts as the initiator of a build, and where its job
// stands in the queue.
func onBehalf(actor access.Subject, w sqlc.Workspace) (initiator uuid.UUID, class int16) {
	if actor.System {
		return w.OwnerID, automaticClass
	}
	return actor.UserID, 0
}
