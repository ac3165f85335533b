package command

import (
	"context"
	"encoding/json"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Call sends one request for which the codersdk client has no method. It
// decodes the response body into out, unless out is nil.
func Call(ctx context.Context, c *codersdk.Client, method, path string, body, out any) error {
	resp, err := c.Request(ctx, method, path, nil, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return codersdk.ReadError(resp)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
