package codersdk

import (
	"context"
	"net/http"

	"github.com/google/uuid"
)

// PrebuildsSettings calls GET /prebuilds/settings.
func (c *Client) PrebuildsSettings(ctx context.Context) (out PrebuildsSettings, err error) {
	return out, c.do(ctx, http.MethodGet, "/prebuilds/settings", nil, nil, &out)
}

// UpdatePrebuildsSettings calls PUT /prebuilds/settings. Settings that are already
// in effect are no error.
func (c *Client) UpdatePrebuildsSettings(ctx context.Context, req PrebuildsSettings) error {
	resp, err := c.Request(ctx, http.MethodPut, "/prebuilds/settings", nil, req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // the body is not needed
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusNotModified {
		return ReadError(resp)
	}
	return nil
}

// InvalidatePrebuilds replaces the prebuilt workspaces of a template.
func (c *Client) InvalidatePrebuilds(ctx context.Context, templateID uuid.UUID) (out InvalidatePresetsResponse, err error) {
	return out, c.do(ctx, http.MethodPost, "/templates/"+templateID.String()+"/prebuilds/invalidate", nil, nil, &out)
}
