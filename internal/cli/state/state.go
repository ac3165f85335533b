// Package state is the command state: it reads and replaces the Terraform state of a
// workspace.
package state

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/cli/build"
	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
	"github.com/seed-2a7f8fe7/coder/internal/option"
)

// Command returns the command state.
func Command(a *command.Run) *command.Command {
	return &command.Command{
		Name:  "state",
		Short: "Manage the Terraform state of a workspace",
		Subs:  []*command.Command{statePullCommand(a), statePushCommand(a)},
	}
}

// buildNumbered returns the build with that number; 0 means the latest build.
func buildNumbered(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, number int32) (codersdk.WorkspaceBuild, error) {
	if number == 0 {
		return w.LatestBuild, nil
	}
	return c.WorkspaceBuildByNumber(ctx, w.OwnerName, w.Name, number)
}

func statePullCommand(a *command.Run) *command.Command {
	var number int32
	return build.OnWorkspace(a, command.Command{
		Name: "pull", Args: "<workspace> [file]", Min: 1, Max: 2,
		Short:   "Write the state of a workspace to a file or standard output",
		Options: []*option.Option{option.Int(&number, "build", "Build number (default: the latest build)").Short("b")},
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, args []string) error {
		b, err := buildNumbered(ctx, c, w, number)
		if err != nil {
			return err
		}
		state, err := c.Download(ctx, "/workspacebuilds/"+b.ID.String()+"/state", nil)
		if err != nil {
			return err
		}
		if len(args) == 0 {
			_, err = a.Raw.Write(state)
			return err
		}
		return command.WriteFile(args[0], state, 0o600)
	})
}

// pushOptions holds the flags of state push.
type pushOptions struct {
	build               int32
	noBuild, yes, force bool
}

func statePushCommand(a *command.Run) *command.Command {
	var o pushOptions
	return build.OnWorkspace(a, command.Command{
		Name: "push", Args: "<workspace> <file>", Min: 2, Max: 2,
		Short: "Replace the state of a workspace from a file, or from standard input with -",
		Long: "A build with the transition of the latest build follows and applies the new state. A state that is " +
			"older than the current one, or that belongs to another workspace, requires --force.",
		Options: []*option.Option{
			option.Int(&o.build, "build", "Number of the build whose state to replace (default: the latest build)").Short("b"),
			option.Bool(&o.noBuild, "no-build", "Replace the state without starting a build").Short("n"),
			option.Bool(&o.force, "force", "Push a state that is older or that belongs to another workspace"),
			command.Yes(&o.yes),
		},
	}, func(ctx context.Context, c *codersdk.Client, w codersdk.Workspace, args []string) error {
		return pushState(ctx, a, c, w, args[0], o)
	})
}

func pushState(ctx context.Context, a *command.Run, c *codersdk.Client, w codersdk.Workspace, file string, o pushOptions) error {
	if file == "-" && !o.yes {
		return command.Failure("a state from standard input requires --yes, because the confirmation cannot be read from standard input")
	}
	pushed, err := readState(a, file)
	if err != nil {
		return err
	}
	b, err := buildNumbered(ctx, c, w, o.build)
	if err != nil {
		return err
	}
	if !o.force {
		current, err := c.Download(ctx, "/workspacebuilds/"+b.ID.String()+"/state", nil)
		if err != nil {
			return err
		}
		if err := checkState(w.Name, current, pushed); err != nil {
			return err
		}
	}
	if err := a.Confirm(fmt.Sprintf("Replace the state of build %d of %s? Resources that exist only in the old state are orphaned.", b.BuildNumber, w.Name),
		o.yes); err != nil {
		return err
	}
	if o.noBuild {
		if err := c.UpdateWorkspaceBuildState(ctx, b.ID, codersdk.UpdateWorkspaceBuildStateRequest{State: pushed}); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Stdout, "Replaced the state of build %d of %s.\n", b.BuildNumber, w.Name)
		return err
	}
	return build.Run(ctx, a, c, w, codersdk.CreateWorkspaceBuildRequest{
		TemplateVersionID: b.TemplateVersionID, Transition: b.Transition, State: pushed,
	})
}

// maxState bounds the size of a state that is read, in bytes.
const maxState = 64 << 20

// readState reads a state from a file, or from standard input for "-".
func readState(a *command.Run, file string) ([]byte, error) {
	from := io.Reader(a.Lines)
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	b, err := io.ReadAll(io.LimitReader(from, maxState+1))
	if err == nil && len(b) > maxState {
		err = command.Failure("%s is larger than the limit of %d MiB", file, maxState>>20)
	}
	return b, err
}
