package codersdk

import (
	"context"
	"net/url"

	"github.com/google/uuid"
)

// ExplainProvisionerJob calls GET /organizations/{organization}/provisionerjobs/{job}/explain.
func (c *Client) ExplainProvisionerJob(ctx context.Context, organization string, job uuid.UUID) (out ProvisionerJobExplanation, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/provisionerjobs/"+job.String()+"/explain", nil, nil, &out)
	return out, err
}

// ProvisionerQueue calls GET /organizations/{organization}/provisionerqueue.
func (c *Client) ProvisionerQueue(ctx context.Context, organization string, q url.Values) (out ProvisionerQueue, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/provisionerqueue", q, nil, &out)
	return out, err
}
