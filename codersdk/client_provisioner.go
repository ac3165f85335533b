package codersdk

import (
	"context"
	"net/url"

	"github.com/google/uuid"
)

// ProvisionerDaemons calls GET /organizations/{organization}/provisionerdaemons.
func (c *Client) ProvisionerDaemons(ctx context.Context, organization string, q url.Values) (out []ProvisionerDaemon, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/provisionerdaemons", q, nil, &out)
	return out, err
}

// ProvisionerJobs calls GET /organizations/{organization}/provisionerjobs.
func (c *Client) ProvisionerJobs(ctx context.Context, organization string, q url.Values) (out []ProvisionerJob, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/provisionerjobs", q, nil, &out)
	return out, err
}

// ProvisionerJob calls GET /organizations/{organization}/provisionerjobs/{job}.
func (c *Client) ProvisionerJob(ctx context.Context, organization string, job uuid.UUID) (out ProvisionerJob, err error) {
	err = c.do(ctx, "GET", "/organizations/"+url.PathEscape(organization)+"/provisionerjobs/"+job.String(), nil, nil, &out)
	return out, err
}

// ProvisionerKeys calls GET /organizations/{organization}/provisionerkeys.
func (c *Client) ProvisionerKeys(ctx context.Context, organization string) ([]ProvisionerKey, error) {
	return all[ProvisionerKey](ctx, c, "/organizations/"+url.PathEscape(organization)+"/provisionerkeys", nil)
}

// CreateProvisionerKey calls POST /organizations/{organization}/provisionerkeys.
func (c *Client) CreateProvisionerKey(ctx context.Context, organization string, req CreateProvisionerKeyRequest) (out CreateProvisionerKeyResponse, err error) {
	err = c.do(ctx, "POST", "/organizations/"+url.PathEscape(organization)+"/provisionerkeys", nil, req, &out)
	return out, err
}

// RotateProvisionerKey calls POST /organizations/{organization}/provisionerkeys/{name}/rotate.
func (c *Client) RotateProvisionerKey(
	ctx context.Context,
	organization string,
	name string,
	req RotateProvisionerKeyRequest,
) (out RotateProvisionerKeyResponse, err error) {
	err = c.do(ctx, "POST", "/organizations/"+url.PathEscape(organization)+"/provisionerkeys/"+url.PathEscape(name)+"/rotate", nil, req, &out)
	return out, err
}

// DeleteProvisionerKey calls DELETE
// /organizations/{organization}/provisionerkeys/{name}. A name deletes every key
// with that name, an ID only that key.
func (c *Client) DeleteProvisionerKey(ctx context.Context, organization string, name string) error {
	return c.do(ctx, "DELETE", "/organizations/"+url.PathEscape(organization)+"/provisionerkeys/"+url.PathEscape(name), nil, nil, nil)
}
