package workspace

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/event"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/pending"
)

// Update stores the state that a running build reports, so that its resources are known
// if the provisioner is lost. If a later build exists, the error is CodePrecondition.
func (s builds) Update(ctx context.Context, q *sqlc.Queries, job queue.Job, req *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error) {
	if len(req.State) == 0 {
		return &provisionerd.UpdateJobResponse{}, nil
	}
	in, err := readInput(job)
	if err != nil {
		return nil, err
	}
	state, err := gunzip(req.State)
	if err != nil {
		return nil, err
	}
	n, err := s.Vault.PutSnapshot(ctx, q, in.WorkspaceBuildID, state, s.now())
	switch {
	case err == nil && n > 0:
		err = pending.Note(ctx, q, in.WorkspaceBuildID, state, s.now(), s.Vault.Ready())
	case err == nil:
		err = codersdk.Errorf(codersdk.CodePrecondition, "The workspace has a later build, which started without this state")
	}
	return &provisionerd.UpdateJobResponse{}, err
}

// gunzip decompresses a state of limited size.
func gunzip(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, codersdk.Invalid("state", "the state is not compressed with gzip: %v", err)
	}
	state, err := io.ReadAll(io.LimitReader(r, provisionerd.MaxState+1))
	switch {
	case err != nil:
		return nil, codersdk.Invalid("state", "the state cannot be decompressed: %v", err)
	case len(state) > provisionerd.MaxState:
		return nil, codersdk.Errorf(codersdk.CodeTooLarge, "The state is larger than %d MiB", provisionerd.MaxState>>20)
	case len(state) == 0:
		return nil, codersdk.Invalid("state", "the state is empty")
	}
	return state, nil
}

// Complete stores the resources and the state of a build, sets the deadlines of a
// started workspace, and deletes a workspace after a successful delete.
func (s builds) Complete(ctx context.Context, q *sqlc.Queries, job queue.Job, done *provisionerd.CompletedJob) error {
	in, err := readInput(job)
	if err != nil {
		return err
	}
	result := done.GetWorkspaceBuild()
	b, err := q.BuildByID(ctx, in.WorkspaceBuildID)
	if err != nil {
		return err
	}
	w, err := q.WorkspaceForUpdate(ctx, b.WorkspaceID)
	if err != nil {
		return err
	}
	now := s.now()
	transition := codersdk.WorkspaceTransition(b.Transition)
	if err := s.Vault.PutState(ctx, q, b.ID, result.GetState(), now); err != nil {
		return err
	}
	options := resource.Options{Now: now, Vault: s.Vault, KeepTokens: w.OwnerID == codersdk.PrebuildsUserID(), Adopt: b.HandedOver}
	if err := resource.Insert(ctx, q, job.ID, transition, result.GetResources(), options); err != nil {
		return err
	}
	if err := pending.Adopt(ctx, q, b.ID); err != nil {
		return err
	}
	finish := sqlc.BuildFinishParams{ID: b.ID, Now: now}
	for _, r := range result.GetResources() {
		finish.DailyCost += r.DailyCost
	}
	if transition == codersdk.WorkspaceTransitionStart {
		if finish.Deadline, finish.MaxDeadline, err = s.deadlines(ctx, q, w, now); err != nil {
			return err
		}
	}
	if err := q.BuildFinish(ctx, finish); err != nil {
		return err
	}
	s.Plans.Metrics.Finished(result.GetSavedPlan())
	if replaced := result.GetResourceReplacements(); len(replaced) > 0 && b.PresetID != nil {
		claim, err := isClaim(ctx, q, in, b)
		if err == nil && claim {
			err = event.Replaced(ctx, q, w, b, replaced)
		}
		if err != nil {
			return err
		}
	}
	return s.afterwards(ctx, q, w, b, transition, now)
}

// afterwards applies the effects of a successful build to the workspace.
func (s builds) afterwards(
	ctx context.Context,
	q *sqlc.Queries,
	w sqlc.Workspace,
	b sqlc.WorkspaceBuild,
	transition codersdk.WorkspaceTransition,
	now time.Time,
) error {
	if err := s.dropTokens(ctx, q, w, b.ID); err != nil {
		return err
	}
	if err := q.ScheduleSettle(ctx, w.ID); err != nil {
		return err
	}
	if transition == codersdk.WorkspaceTransitionStart {
		if b.Reason == string(codersdk.BuildReasonAutostart) {
			return nil // the user may not be connected
		}
		return q.WorkspaceTouch(ctx, now, w.ID)
	}
	if transition == codersdk.WorkspaceTransitionDelete {
		if err := event.Deleted(ctx, q, w, b.ID); err != nil {
			return err
		}
		return q.WorkspaceDelete(ctx, now, w.ID)
	}
	if w.NextStartAt != nil && !w.NextStartAt.After(now) {
		return nil // its next start is already queued
	}
	t, err := q.WorkspaceTemplate(ctx, w.TemplateID)
	if err != nil {
		return err
	}
	return q.WorkspaceSetNextStart(ctx, NextStart(t, w, now), w.ID)
}

// dropTokens deletes the owner's session token of the last successful start before the
// given build.
func (s *Service) dropTokens(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, buildID uuid.UUID) error {
	if s.DropOwnerToken == nil {
		return nil
	}
	started, err := q.BuildLastStart(ctx, w.ID, buildID)
	if codersdk.Is(err, codersdk.CodeNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.DropOwnerToken(ctx, q, w.OwnerID, started)
}

// Fail stores the state that a build reached. Without a state, that of the previous
// build stays. The workspace stays.
func (s builds) Fail(ctx context.Context, q *sqlc.Queries, job queue.Job, failed *provisionerd.FailedJob) error {
	in, err := readInput(job)
	if err != nil {
		return err
	}
	if state := failed.GetWorkspaceBuild().GetState(); len(state) > 0 {
		if err := s.Vault.PutState(ctx, q, in.WorkspaceBuildID, state, s.now()); err != nil {
			return err
		}
	}
	if err := q.PendingAgentsDelete(ctx, in.WorkspaceBuildID); err != nil {
		return err
	}
	if err := s.failed(ctx, q, in.WorkspaceBuildID); err != nil {
		return err
	}
	if !job.Canceled {
		if err := event.Failed(ctx, q, in.WorkspaceBuildID, failed.GetError()); err != nil {
			return err
		}
	}
	if s.DropOwnerToken == nil {
		return nil
	}
	w, err := q.WorkspaceByID(ctx, in.WorkspaceID)
	if err != nil {
		return err
	}
	return s.DropOwnerToken(ctx, q, w.OwnerID, in.WorkspaceBuildID)
}

// Changed notifies watchers of the workspace.
func (s builds) Changed(ctx context.Context, job queue.Job) {
	in, err := readInput(job)
	if err != nil {
		s.Log.Error("cannot notify watchers of a changed build", "job", job.ID, "error", err)
		return
	}
	s.Hub.Publish(notify.Workspace(in.WorkspaceID))
	if in.Followed {
		s.followUp(ctx, in.WorkspaceBuildID)
	}
	if err := s.metrics.Count(ctx, s.Store.Queries, in.WorkspaceBuildID, in.Claim); err != nil {
		s.Log.Warn("cannot count a build in the metrics", "build_id", in.WorkspaceBuildID, "error", err)
	}
}
