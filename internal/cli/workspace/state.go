package workspace

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/option"
)

func stateCommand(a *app.Run) *app.Command {
	return &app.Command{
		Name:  "state",
		Short: "Read and replace the Terraform state of a workspace.",
		Subs:  []*app.Command{statePullCommand(a), statePushCommand(a)},
	}
}

// buildNumbered is the build of that number; 0 is the latest.
func buildNumbered(ctx context.Context, c *client.Client, w coder.Workspace, number int32) (coder.WorkspaceBuild, error) {
	if number == 0 {
		return w.LatestBuild, nil
	}
	return c.WorkspaceBuildByNumber(ctx, w.OwnerName, w.Name, number)
}

func statePullCommand(a *app.Run) *app.Command {
	var number int32
	return build.OnWorkspace(a, app.Command{
		Name: "pull", Args: "<workspace> [file]", Min: 1, Max: 2,
		Short:   "Write the state of a workspace to a file, or to standard output.",
		Options: []*option.Option{option.Int(&number, "build", "Number of the build; the latest otherwise.").Short("b")},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, args []string) error {
		b, err := buildNumbered(ctx, c, w, number)
		if err != nil {
			return err
		}
		state, err := c.Download(ctx, "/workspacebuilds/"+b.ID.String()+"/state", nil)
		if err != nil {
			return err
		}
		if len(args) == 0 {
			_, err = a.Stdout.Write(state)
			return err
		}
		return app.WriteFile(args[0], state, 0o600)
	})
}

func statePushCommand(a *app.Run) *app.Command {
	var number int32
	var noBuild bool
	return build.OnWorkspace(a, app.Command{
		Name: "push", Args: "<workspace> <file>", Min: 2, Max: 2,
		Short: "Replace the state of a workspace by a file, or by standard input for -.",
		Long:  "A build of the same kind as the latest follows and works on the new state.",
		Options: []*option.Option{
			option.Int(&number, "build", "Number of the build whose state is meant; the latest otherwise.").Short("b"),
			option.Bool(&noBuild, "no-build", "Replace the state alone and start no build.").Short("n"),
		},
	}, func(ctx context.Context, c *client.Client, w coder.Workspace, args []string) error {
		read := os.ReadFile
		if args[0] == "-" {
			read = func(string) ([]byte, error) { return io.ReadAll(a.Lines) }
		}
		state, err := read(args[0])
		if err != nil {
			return err
		}
		b, err := buildNumbered(ctx, c, w, number)
		if err != nil {
			return err
		}
		if noBuild {
			if err := c.UpdateWorkspaceBuildState(ctx, b.ID, coder.UpdateWorkspaceBuildStateRequest{State: state}); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Stdout, "Replaced the state of build %d of %s.\n", b.BuildNumber, w.Name)
			return err
		}
		return build.Run(ctx, a, c, w, coder.CreateWorkspaceBuildRequest{
			TemplateVersionID: b.TemplateVersionID, Transition: b.Transition, State: state,
		})
	})
}
