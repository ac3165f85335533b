package template

import (
	"context"
	"fmt"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// prebuildsCommand returns the commands that pause and resume prebuilt
// workspaces. (WS-20)
func prebuildsCommand(a *command.Run) *command.Command {
	return &command.Command{
		Name: "prebuilds", Aliases: []string{"prebuild"},
		Short: "Pause or resume prebuilt workspaces",
		Long: "A preset of a template can define a number of prebuilt workspaces, which the server keeps ready for " +
			"users to claim. Pause and resume apply to all templates of the deployment.",
		Examples: []command.Example{
			{Text: "Stop creating and deleting prebuilt workspaces; existing ones can be claimed", Line: "coder prebuilds pause"},
			{Text: "Resume", Line: "coder prebuilds resume"},
		},
		Subs: []*command.Command{
			prebuildsSetCommand(
				a,
				"pause",
				"Pause prebuilt workspaces",
				true,
				"Prebuilt workspaces are paused: none are created or deleted until 'coder prebuilds resume'.",
			),
			prebuildsSetCommand(a, "resume", "Resume prebuilt workspaces", false, "Prebuilt workspaces are resumed."),
		},
	}
}

func prebuildsSetCommand(a *command.Run, name, short string, paused bool, done string) *command.Command {
	return &command.Command{
		Name: name, Short: short,
		Run: func(ctx context.Context, _ []string) error {
			c, err := a.Client(ctx)
			if err != nil {
				return err
			}
			if err := c.UpdatePrebuildsSettings(ctx, codersdk.PrebuildsSettings{ReconciliationPaused: paused}); err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.Stdout, done)
			return err
		},
	}
}
