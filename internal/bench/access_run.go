package bench

import (
	"context"
	"path/filepath"
)

// Access measures the ways into workspaces.
func Access(ctx context.Context, c Config) error {
	bin, err := filepath.Abs(c.Coder)
	if err != nil {
		return err
	}
	return each(c,
		measurement{"a workspace", func() ([]row, error) { return workspaceRows(ctx, c, bin) }},
		measurement{"apps", func() ([]row, error) { return appRows(ctx, c, bin) }},
		measurement{"idle agents", func() ([]row, error) { return withYard(ctx, bin, agentRows) }},
		measurement{"agents that come back", func() ([]row, error) { return withYard(ctx, bin, reconnectRows) }},
	)
}
