package inside

import (
	"errors"
	"fmt"
	"os/exec"

	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
)

// become runs file and ends as it does.
func become(file string, args []string, a *app.Run) error {
	cmd := exec.Command(file, args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = a.Stdin, a.Stdout, a.Stderr, a.Environ()
	err := cmd.Run()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return app.ExitStatus(e.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", file, err)
	}
	return nil
}
