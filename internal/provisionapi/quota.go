package provisionapi

import (
	"context"
	"math"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// CommitQuota decides whether the workspace may cost what the plan of a build
// does. A build that costs nothing is always allowed.
func (c *conn) CommitQuota(ctx context.Context, req *provisionerd.CommitQuotaRequest) (*provisionerd.CommitQuotaResponse, error) {
	if req.DailyCost == 0 {
		return &provisionerd.CommitQuotaResponse{Ok: true, Budget: -1}, nil
	}
	w, err := c.holder(ctx, req.JobId)
	if err != nil {
		return nil, c.explain("quota", req.JobId, err)
	}
	q, err := c.queue.CommitQuota(ctx, w, c.fence(req.JobId, req.Fence), req.JobId, req.DailyCost)
	if err != nil {
		return nil, c.explain("quota", req.JobId, err)
	}
	return &provisionerd.CommitQuotaResponse{
		Ok: q.OK, CreditsConsumed: int32(min(q.Consumed, math.MaxInt32)), Budget: int32(min(q.Budget, math.MaxInt32)),
	}, nil
}
