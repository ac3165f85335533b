package codersdk

import (
	"context"
	"net/url"
	"strconv"
)

// BuildInfo calls GET /buildinfo.
func (c *Client) BuildInfo(ctx context.Context) (out BuildInfoResponse, err error) {
	err = c.do(ctx, "GET", "/buildinfo", nil, nil, &out)
	return out, err
}

// Replicas calls GET /replicas.
func (c *Client) Replicas(ctx context.Context) (out []Replica, err error) {
	err = c.do(ctx, "GET", "/replicas", nil, nil, &out)
	return out, err
}

// SSHConfig calls GET /deployment/ssh.
func (c *Client) SSHConfig(ctx context.Context) (out SSHConfigResponse, err error) {
	err = c.do(ctx, "GET", "/deployment/ssh", nil, nil, &out)
	return out, err
}

// AuditLogs calls GET /audit.
func (c *Client) AuditLogs(ctx context.Context, q url.Values) (out AuditLogResponse, err error) {
	err = c.do(ctx, "GET", "/audit", q, nil, &out)
	return out, err
}

// Entitlements calls GET /entitlements.
func (c *Client) Entitlements(ctx context.Context) (out Entitlements, err error) {
	err = c.do(ctx, "GET", "/entitlements", nil, nil, &out)
	return out, err
}

// Licenses calls GET /licenses.
func (c *Client) Licenses(ctx context.Context) (out []License, err error) {
	err = c.do(ctx, "GET", "/licenses", nil, nil, &out)
	return out, err
}

// AddLicense calls POST /licenses.
func (c *Client) AddLicense(ctx context.Context, req AddLicenseRequest) (out License, err error) {
	err = c.do(ctx, "POST", "/licenses", nil, req, &out)
	return out, err
}

// DeleteLicense calls DELETE /licenses/{id}.
func (c *Client) DeleteLicense(ctx context.Context, id int32) error {
	return c.do(ctx, "DELETE", "/licenses/"+strconv.Itoa(int(id)), nil, nil, nil)
}
