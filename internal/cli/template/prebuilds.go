package template

import (
	"context"
	"fmt"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
)

// prebuildsCommand is about workspaces that are built before anybody asks for
// them. (WS-20)
func prebuildsCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name: "prebuilds", Aliases: []string{"prebuild"},
		Short: "Pause or resume the making of prebuilt workspaces.",
		Long: "Presets of templates can say how many workspaces are kept ready before anybody asks for one. The server " +
			"makes and deletes them by itself; what is said here is for all templates of the deployment.",
		Examples: []app.Example{
			{Text: "Make and delete no more for now; what is ready can be taken", Line: "coder prebuilds pause"},
			{Text: "Go on", Line: "coder prebuilds resume"},
		},
		Subs: []*app.Command{
			prebuildsSetCommand(a, "pause", "Pause the making of prebuilt workspaces.", true, "Prebuilt workspaces are paused: none is made or deleted until \"coder prebuilds resume\"."),
			prebuildsSetCommand(a, "resume", "Resume the making of prebuilt workspaces.", false, "Prebuilt workspaces are looked after again."),
		},
	}
}

func prebuildsSetCommand(a *app.Run, name, short string, paused bool, done string) *app.Command {
	return &app.Command{
		Name: name, Short: short,
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			if err := c.UpdatePrebuildsSettings(ctx, coder.PrebuildsSettings{ReconciliationPaused: paused}); err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Stdout, done)
			return err
		},
	}
}
