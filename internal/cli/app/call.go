package app

import (
	"context"
	"encoding/json"

	"github.com/seed-2a7f8fe7/coder/client"
)

// Call sends one request whose method package client does not have, and
// decodes the answer into out unless nil.
func Call(ctx context.Context, c *client.Client, method, path string, body, out any) error {
	resp, err := c.Request(ctx, method, path, nil, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return client.ReadError(resp)
	}
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
