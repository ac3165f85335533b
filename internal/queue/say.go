package queue

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// say takes an update that holds nothing but log lines in one statement, which
// most updates are. said is false when the update needs a transaction: it says
// more, the log reaches its limit, or w does not hold the job.
func (s *Service) say(ctx context.Context, w Worker, fence int64, req *provisionerd.UpdateJobRequest) (resp *provisionerd.UpdateJobResponse, said bool, err error) {
	id, err := uuid.Parse(req.JobId)
	if err != nil || tells(req) {
		return nil, false, nil
	}
	lines := linesOf(sqlc.ProvisionerJob{ID: id}, req.Logs)
	if lines.overflowed {
		return nil, false, nil
	}
	lease := w.Lease
	if lease <= 0 {
		lease = s.Lease
	}
	r, err := s.Store.QueueSay(ctx, sqlc.QueueSayParams{
		ID: id, Fence: fence, WorkerID: w.ID, Resumable: req.Resumable, Bytes: lines.length, MaxBytes: maxLogs, LeaseMs: lease.Milliseconds(),
		CreatedAt: lines.CreatedAt, Source: lines.Source, Level: lines.Level, Stage: lines.Stage, Output: lines.Output,
	})
	if coder.Is(err, coder.CodeNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return &provisionerd.UpdateJobResponse{Canceled: r.Canceled}, true, nil
}

// tells says whether an update holds something for the job's handler.
func tells(req *provisionerd.UpdateJobRequest) bool {
	return len(req.State) > 0 || req.TemplateVariables != nil || req.UserVariableValues != nil || req.Readme != nil || req.WorkspaceTags != nil
}
