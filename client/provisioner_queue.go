package client

import (
	"context"
	"net/url"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// ExplainProvisionerJob calls GET /organizations/{organization}/provisionerjobs/{job}/explain.
func (c *Client) ExplainProvisionerJob(ctx context.Context, organization string, job uuid.UUID) (out coder.ProvisionerJobExplanation, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/provisionerjobs/"+job.String()+"/explain", nil, nil, &out)
	return out, err
}

// ProvisionerQueue calls GET /organizations/{organization}/provisionerqueue.
func (c *Client) ProvisionerQueue(ctx context.Context, organization string, q url.Values) (out coder.ProvisionerQueue, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/provisionerqueue", q, nil, &out)
	return out, err
}
