package remote

import (
	"context"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/netcheck"
)

func netcheckCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "netcheck", Max: 0,
		Short: "Check the network requirements of workspace connections and print a JSON report",
		Long: "The regions of the report are the server's relay, the workspace proxies and the STUN servers, each " +
			"with its measured latency. Properties that are not measured are null. The exit status is 1 when no " +
			"workspace can be reached.",
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			r := netcheck.Run(ctx, c, netcheck.Options{NoDirect: a.DisableDirect})
			if err := command.WriteJSON(a.Stdout, r); err != nil {
				return err
			}
			if why := r.Failed(); why != "" {
				return codersdk.Errorf(codersdk.CodeUnavailable, "%s", why)
			}
			return nil
		},
	}
}
