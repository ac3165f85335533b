package workspace

import (
	"context"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
	"github.com/seed-2a7f8fe7/coder/internal/queue"
)

// Spend says whether a workspace may cost that much a day from this build on:
// if all that its owner's workspaces in the organization cost together stays
// within the budget, or if it costs no more than it did. Builds of one owner
// are asked about one after the other. A delete always may. (WS-19)
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
	out.OK = cost <= b.DailyCost || out.Consumed+int64(cost) <= out.Budget || b.Transition == string(coder.WorkspaceTransitionDelete)
	if !out.OK {
		return out, nil
	}
	return out, q.BuildSetCost(ctx, cost, s.now(), b.ID)
}
