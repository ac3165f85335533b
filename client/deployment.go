package client

import (
	"context"
	"net/url"

	"github.com/seed-2a7f8fe7/coder"
)

// BuildInfo calls GET /buildinfo.
func (c *Client) BuildInfo(ctx context.Context) (out coder.BuildInfoResponse, err error) {
	err = c.do(ctx, "GET", "/buildinfo", nil, nil, &out)
	return out, err
}

// SSHConfig calls GET /deployment/ssh.
func (c *Client) SSHConfig(ctx context.Context) (out coder.SSHConfigResponse, err error) {
	err = c.do(ctx, "GET", "/deployment/ssh", nil, nil, &out)
	return out, err
}

// AuditLogs calls GET /audit.
func (c *Client) AuditLogs(ctx context.Context, q url.Values) (out coder.AuditLogResponse, err error) {
	err = c.do(ctx, "GET", "/audit", q, nil, &out)
	return out, err
}

// Entitlements calls GET /entitlements.
func (c *Client) Entitlements(ctx context.Context) (out coder.Entitlements, err error) {
	err = c.do(ctx, "GET", "/entitlements", nil, nil, &out)
	return out, err
}
