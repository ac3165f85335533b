package workspace

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/notify"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/resource"
)

// Update keeps the state that a build tells while it runs, so that what it
// made is known when its provisioner is not heard of again. A state that comes
// when a later build exists is CodePrecondition.
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
	n, err := q.BuildPutSnapshot(ctx, state, s.now(), in.WorkspaceBuildID)
	if err == nil && n == 0 {
		err = coder.Errorf(coder.CodePrecondition, "The workspace has a later build, which began without this state")
	}
	return &provisionerd.UpdateJobResponse{}, err
}

// gunzip unpacks a state of bounded size.
func gunzip(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, coder.Invalid("state", "the state is not packed with gzip: %v", err)
	}
	state, err := io.ReadAll(io.LimitReader(r, provisionerd.MaxState+1))
	switch {
	case err != nil:
		return nil, coder.Invalid("state", "the state cannot be unpacked: %v", err)
	case len(state) > provisionerd.MaxState:
		return nil, coder.Errorf(coder.CodeTooLarge, "The state is larger than %d MiB", provisionerd.MaxState>>20)
	case len(state) == 0:
		return nil, coder.Invalid("state", "the state is empty")
	}
	return state, nil
}

// Complete keeps what a build made and its state, starts the clock of a
// workspace that runs, and deletes one whose delete succeeded.
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
	transition := coder.WorkspaceTransition(b.Transition)
	if err := q.BuildPutState(ctx, b.ID, orEmpty(result.GetState()), now); err != nil {
		return err
	}
	if err := resource.Insert(ctx, q, job.ID, transition, result.GetResources(), resource.Options{Now: now}); err != nil {
		return err
	}
	finish := sqlc.BuildFinishParams{ID: b.ID, Now: now}
	for _, r := range result.GetResources() {
		finish.DailyCost += r.DailyCost
	}
	if transition == coder.WorkspaceTransitionStart {
		if finish.Deadline, finish.MaxDeadline, err = s.deadlines(ctx, q, w, now); err != nil {
			return err
		}
	}
	if err := q.BuildFinish(ctx, finish); err != nil {
		return err
	}
	return s.afterwards(ctx, q, w, b, transition, now)
}

// afterwards changes the workspace as a build that succeeded asks for.
func (s builds) afterwards(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, b sqlc.WorkspaceBuild, transition coder.WorkspaceTransition, now time.Time) error {
	if err := s.dropTokens(ctx, q, w, b.ID); err != nil {
		return err
	}
	if err := q.ScheduleSettle(ctx, w.ID); err != nil {
		return err
	}
	if transition == coder.WorkspaceTransitionStart {
		if b.Reason == string(coder.BuildReasonAutostart) {
			return nil // which nobody may be there to use
		}
		return q.WorkspaceTouch(ctx, now, w.ID)
	}
	if transition == coder.WorkspaceTransitionDelete {
		return q.WorkspaceDelete(ctx, now, w.ID)
	}
	if w.NextStartAt != nil && !w.NextStartAt.After(now) {
		return nil // it is to start again already
	}
	t, err := q.WorkspaceTemplate(ctx, w.TemplateID)
	if err != nil {
		return err
	}
	return q.WorkspaceSetNextStart(ctx, NextStart(t, w, now), w.ID)
}

// dropTokens ends the session token of the owner that the last start that
// succeeded before the given build handed out.
func (s *Service) dropTokens(ctx context.Context, q *sqlc.Queries, w sqlc.Workspace, buildID uuid.UUID) error {
	if s.DropOwnerToken == nil {
		return nil
	}
	started, err := q.BuildLastStart(ctx, w.ID, buildID)
	if coder.Is(err, coder.CodeNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return s.DropOwnerToken(ctx, q, w.OwnerID, started)
}

// Fail keeps the state that a build reached; one that says nothing of its
// state leaves that of the build before it. The workspace stays.
func (s builds) Fail(ctx context.Context, q *sqlc.Queries, job queue.Job, failed *provisionerd.FailedJob) error {
	in, err := readInput(job)
	if err != nil {
		return err
	}
	if state := failed.GetWorkspaceBuild().GetState(); len(state) > 0 {
		if err := q.BuildPutState(ctx, in.WorkspaceBuildID, state, s.now()); err != nil {
			return err
		}
	}
	if err := s.failed(ctx, q, in.WorkspaceBuildID); err != nil {
		return err
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

// Changed tells whoever watches the workspace to look again.
func (s builds) Changed(ctx context.Context, job queue.Job) {
	in, err := readInput(job)
	if err != nil {
		s.Log.Error("cannot tell of a changed build", "job", job.ID, "error", err)
		return
	}
	s.Hub.Publish(notify.Workspace(in.WorkspaceID))
	if in.Claim {
		s.countClaim(ctx, in.WorkspaceBuildID)
	}
}

func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
