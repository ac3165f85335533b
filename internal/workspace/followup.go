package workspace

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// A stop can name the start that follows it (on_success). The start is stored with the
// build and added once the stop succeeded: by the server that received the result, or
// by the next poll of any server. One transaction adds the start and deletes the stored
// row, so there is at most one start.

// followUpPage is the number of builds that a poll reads at once.
const followUpPage = 100

// checkFollowUp returns the start that follows the build of req, nil for none, after
// checking that the actor can request it.
func (s *Service) checkFollowUp(
	ctx context.Context,
	actor access.Subject,
	w sqlc.Workspace,
	req codersdk.CreateWorkspaceBuildRequest,
) (*codersdk.CreateWorkspaceBuildRequest, error) {
	if req.OnSuccess.None() {
		return nil, nil
	}
	next := req.OnSuccess.Request(req.Reason)
	if req.Transition != codersdk.WorkspaceTransitionStop || next.Transition != codersdk.WorkspaceTransitionStart {
		return nil, codersdk.Invalid("on_success", "only a stop can be followed, and only by a start")
	}
	action, err := checkBuildRequest(next)
	if err != nil {
		return nil, err
	}
	if _, err := s.findLive(ctx, actor, action, w.ID); err != nil {
		return nil, err
	}
	return &next, s.checkSpecial(ctx, actor, w, next)
}

// putFollowUp stores the start after a stop that was just added to a locked workspace,
// after checking that it could be built now.
func (s *Service) putFollowUp(
	ctx context.Context,
	q *sqlc.Queries,
	actor access.Subject,
	w sqlc.Workspace,
	stop uuid.UUID,
	next codersdk.CreateWorkspaceBuildRequest,
) error {
	b, err := q.BuildByID(ctx, stop)
	if err != nil {
		return err
	}
	p, err := s.planAfter(ctx, q, actor, w, sqlc.BuildLatestRow{WorkspaceBuild: b, JobStatus: string(codersdk.ProvisionerJobStatusSucceeded)}, next)
	if err != nil {
		return err
	}
	values, _, err := s.parameters(ctx, q, p)
	if err != nil {
		return err
	}
	if _, err := p.tags(s.Vault, values); err != nil {
		return err
	}
	request, err := json.Marshal(next)
	if err != nil {
		return err
	}
	return q.BuildPutFollowUp(ctx, stop, request, s.now())
}

// FollowUps adds the starts of stops that have finished. It is called repeatedly and
// covers servers that ended between the stop and the start.
func (s *Service) FollowUps(ctx context.Context) {
	var after time.Time
	var afterID uuid.UUID
	for ctx.Err() == nil {
		rows, err := s.Store.BuildFollowUps(ctx, after, afterID, followUpPage)
		if err != nil {
			s.Log.WarnContext(ctx, "cannot read the starts that follow stops; retrying", "error", err)
			return
		}
		for _, r := range rows {
			s.followUp(ctx, r.BuildID)
			after, afterID = r.CreatedAt, r.BuildID
		}
		if len(rows) < followUpPage {
			return
		}
	}
}

// followUp adds the start after a stop if the stop succeeded and is still the latest
// build. A locked workspace is left to the next poll. A start that can no longer be
// built is dropped.
func (s *Service) followUp(ctx context.Context, stop uuid.UUID) {
	var w sqlc.Workspace
	added := false
	err := s.Store.Tx(ctx, func(q *sqlc.Queries) (err error) {
		w, added, err = s.addFollowUp(ctx, q, stop)
		return err
	})
	log := s.Log.With("build", stop, "workspace", w.ID)
	switch {
	case err == nil && added:
		s.Queue.Wake(w.OrganizationID)
		s.Hub.Publish(notify.Workspace(w.ID))
	case err == nil:
	case ctx.Err() != nil, codersdk.Is(err, codersdk.CodeInternal), codersdk.Is(err, codersdk.CodeUnavailable):
		log.WarnContext(ctx, "cannot add the start after a stop; retrying", "error", err)
	default:
		log.WarnContext(ctx, "the start after a stop cannot be built; the workspace stays stopped", "error", err)
		if _, err := s.Store.BuildTakeFollowUp(ctx, stop); err != nil && !codersdk.Is(err, codersdk.CodeNotFound) {
			log.WarnContext(ctx, "cannot drop the start after a stop", "error", err)
		}
	}
}

func (s *Service) addFollowUp(ctx context.Context, q *sqlc.Queries, stop uuid.UUID) (w sqlc.Workspace, added bool, err error) {
	b, err := q.BuildByID(ctx, stop)
	if err != nil {
		return w, false, err
	}
	if w, err = q.ScheduleLock(ctx, b.WorkspaceID); err != nil {
		if codersdk.Is(err, codersdk.CodeNotFound) { // locked, or deleted
			err = nil
		}
		return w, false, err
	}
	latest, err := q.BuildLatest(ctx, w.ID)
	if err != nil {
		return w, false, err
	}
	if latest.WorkspaceBuild.ID == stop && finished(w, b, latest.JobStatus) != nil {
		return w, false, nil
	}
	request, err := q.BuildTakeFollowUp(ctx, stop)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return w, false, nil
	}
	if err != nil {
		return w, false, err
	}
	if latest.WorkspaceBuild.ID != stop || latest.JobStatus != string(codersdk.ProvisionerJobStatusSucceeded) {
		return w, false, nil
	}
	var next codersdk.CreateWorkspaceBuildRequest
	if err := json.Unmarshal(request, &next); err != nil {
		return w, false, err
	}
	user, err := q.ScheduleOwner(ctx, b.InitiatorID)
	if err != nil {
		return w, false, err
	}
	if user.DeletedAt != nil || user.Status == string(codersdk.UserStatusSuspended) {
		return w, false, codersdk.Errorf(codersdk.CodeForbidden, "The user who requested the start is suspended or deleted")
	}
	actor := access.Subject{System: true, UserID: b.InitiatorID} // the request's rights were checked before
	p, err := s.planAfter(ctx, q, actor, w, latest, next)
	if err != nil {
		return w, false, err
	}
	p.initiator = b.InitiatorID
	_, err = s.addBuild(ctx, q, actor, p)
	return w, err == nil, err
}
