package planahead

import (
	"context"
	"fmt"
	"strings"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
	"github.com/seed-2a7f8fe7/coder/internal/workspace/savedplan"
)

// planner is the queue's Handler of jobs that plan ahead.
type planner struct{ s *Service }

var _ queue.Handler = planner{}

// maxReason is the longest reason that is stored, in bytes.
const maxReason = 1000

// Prepare rehearses the start again and records the key of what the provisioner receives.
func (h planner) Prepare(ctx context.Context, job queue.Job) (*provisionerd.AcquiredJob, error) {
	var in input
	if err := job.ReadInput(&in); err != nil {
		return nil, err
	}
	r, err := h.s.Workspaces.Rehearse(ctx, in.WorkspaceID)
	why, err := h.s.whyNot(ctx, r, err)
	if err != nil {
		return nil, fmt.Errorf("gather the inputs of the next start of workspace %s: %w", in.WorkspaceID, err)
	}
	if why != "" || r.VersionID != in.TemplateVersionID {
		// Without the row the next check decides again.
		if err := h.s.Store.PlanAheadCanceled(ctx, job.ID); err != nil {
			return nil, err
		}
		return nil, codersdk.Errorf(codersdk.CodePrecondition, "The workspace changed since the job was added; it is examined again")
	}
	source, err := h.s.Store.BuildSource(ctx, job.FileID)
	if err != nil {
		return nil, fmt.Errorf("read the source of the template: %w", err)
	}
	key := savedplan.Key(source, r.Build)
	n, err := h.s.Store.PlanAheadSetKey(ctx, sqlc.PlanAheadSetKeyParams{Key: key, BuildNumber: r.BuildNumber, WorkspaceID: in.WorkspaceID, JobID: job.ID})
	switch {
	case err != nil:
		return nil, err
	case n == 0 || len(key) == 0:
		return nil, codersdk.Errorf(codersdk.CodePrecondition, "A build of the workspace began meanwhile")
	}
	return &provisionerd.AcquiredJob{
		UserName: r.UserName, TemplateSourceArchive: source, TraceMetadata: map[string]string{},
		Type: &provisionerd.AcquiredJob_WorkspacePlan{WorkspacePlan: r.Build},
	}, nil
}

// Update has nothing to store.
func (planner) Update(context.Context, *sqlc.Queries, queue.Job, *provisionerd.UpdateJobRequest) (*provisionerd.UpdateJobResponse, error) {
	return nil, nil
}

// Complete stores the plan.
func (h planner) Complete(ctx context.Context, q *sqlc.Queries, job queue.Job, done *provisionerd.CompletedJob) error {
	why, err := h.s.Workspaces.Plans.Put(ctx, q, job.ID, done.GetWorkspacePlan(), h.s.now())
	if err == nil && why != "" {
		err = q.PlanAheadFailed(ctx, sqlc.PlanAheadFailedParams{Reason: why, PublicReason: why, Now: h.s.now(), JobID: job.ID})
	}
	return err
}

// Fail records why there is no plan. After a cancellation the workspace is planned again.
func (h planner) Fail(ctx context.Context, q *sqlc.Queries, job queue.Job, failed *provisionerd.FailedJob) error {
	if job.Canceled {
		return q.PlanAheadCanceled(ctx, job.ID)
	}
	reason := planFailed + ": " + failed.GetError()
	reason = strings.ToValidUTF8(reason[:min(len(reason), maxReason)], "")
	return q.PlanAheadFailed(ctx, sqlc.PlanAheadFailedParams{Reason: reason, Now: h.s.now(), JobID: job.ID})
}

// Changed starts the next check after the end of a job.
func (h planner) Changed(context.Context, queue.Job) {
	select {
	case h.s.more <- struct{}{}:
	default:
	}
}
