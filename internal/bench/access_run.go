package bench

import (
	"context"
	"path/filepath"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Access measures the ways into workspaces.
func Access(ctx context.Context, c Config) error {
	bin, err := filepath.Abs(c.Coder)
	if err != nil {
		return err
	}
	return each(c,
		measurement{"an agent", func() ([]row, error) { return agentAndTerminalRows(ctx, c, bin) }},
		measurement{"ssh", func() ([]row, error) {
			return inWorkspace(ctx, c, bin, func(s *server, _ codersdk.Workspace) ([]row, error) { return s.sshRows(ctx, c.Runs) })
		}},
		measurement{"secrets", func() ([]row, error) {
			return inWorkspace(ctx, c, bin, func(s *server, _ codersdk.Workspace) ([]row, error) { return s.secretRows(ctx) })
		}},
		measurement{"streams", func() ([]row, error) {
			return inWorkspace(ctx, c, bin, func(s *server, w codersdk.Workspace) ([]row, error) { return s.streamRows(ctx, w) })
		}},
		measurement{"a distance", func() ([]row, error) { return distanceRows(ctx, c, bin) }},
		measurement{"git's prompts", func() ([]row, error) { return askpassRows(ctx, bin) }},
		measurement{"apps", func() ([]row, error) { return appRows(ctx, c, bin) }},
		measurement{"idle agents", func() ([]row, error) { return withYard(ctx, bin, agentRows) }},
		measurement{"agents that come back", func() ([]row, error) { return withYard(ctx, bin, reconnectRows) }},
	)
}
