package client

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// PrebuildsSettings says whether prebuilt workspaces are looked after.
func (c *Client) PrebuildsSettings(ctx context.Context) (out coder.PrebuildsSettings, err error) {
	return out, c.do(ctx, http.MethodGet, "/prebuilds/settings", nil, nil, &out)
}

// UpdatePrebuildsSettings pauses that or goes on with it. That it is so already
// is no error.
func (c *Client) UpdatePrebuildsSettings(ctx context.Context, req coder.PrebuildsSettings) error {
	resp, err := c.Request(ctx, http.MethodPut, "/prebuilds/settings", nil, req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing more is read
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotModified {
		return ReadError(resp)
	}
	return nil
}

// InvalidatePrebuilds has a template's prebuilt workspaces made anew.
func (c *Client) InvalidatePrebuilds(ctx context.Context, templateID uuid.UUID) (out coder.InvalidatePresetsResponse, err error) {
	return out, c.do(ctx, http.MethodPost, "/templates/"+templateID.String()+"/prebuilds/invalidate", nil, nil, &out)
}
