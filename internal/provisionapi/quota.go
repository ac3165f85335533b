package provisionapi

import (
	"context"
	"math"

	"github.com/seed-2a7f8fe7/coder/api/provisionerd"
)

// CommitQuota says whether a workspace may cost what a build's plan does.
func (c *conn) CommitQuota(ctx context.Context, req *provisionerd.CommitQuotaRequest) (*provisionerd.CommitQuotaResponse, error) {
	q, err := c.queue.CommitQuota(ctx, c.worker, c.fence(req.JobId, 0), req.JobId, req.DailyCost)
	if err != nil {
		return nil, c.explain("quota", req.JobId, err)
	}
	return &provisionerd.CommitQuotaResponse{
		Ok: q.OK, CreditsConsumed: int32(min(q.Consumed, math.MaxInt32)), Budget: int32(min(q.Budget, math.MaxInt32)),
	}, nil
}
