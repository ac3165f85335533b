package workspace

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// Spend checks whether a workspace can have that daily cost from this build on. It can
// if the cost of all workspaces of its owner in the organization stays within the
// budget, or if its cost does not grow. Builds of one owner are checked one after the
// other. A delete is always allowed. (WS-19)
func (s builds) Spend(ctx context.Context, q *sqlc.Queries, job queue.Job, cost int32) (queue.Quota, error) {
	in, err := readInput(job)
	if err != nil {
		return queue.Quota{}, err
	}
	b, err := q.BuildByID(ctx, in.WorkspaceBuildID)
	if err != nil {
		return queue.Quota{}, err
	}
	w, err := q.WorkspaceByID(ctx, b.WorkspaceID)
	if err != nil {
		return queue.Quota{}, err
	}
	if err := q.QuotaLock(ctx, w.OwnerID, w.OrganizationID); err != nil {
		return queue.Quota{}, err
	}
	var out queue.Quota
	if out.Budget, err = q.QuotaBudget(ctx, w.OwnerID, w.OrganizationID); err != nil {
		return out, err
	}
	if out.Consumed, err = q.QuotaConsumed(ctx, w.OwnerID, w.OrganizationID, w.ID); err != nil {
		return out, err
	}
	out.OK = cost <= b.DailyCost || out.Consumed+int64(cost) <= out.Budget || b.Transition == string(codersdk.WorkspaceTransitionDelete)
	if !out.OK {
		return out, nil
	}
	return out, q.BuildSetCost(ctx, cost, s.now(), b.ID)
}
