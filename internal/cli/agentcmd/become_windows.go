package agentcmd

import (
	"errors"
	"fmt"
	"os/exec"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// become runs file and exits with its status.
func become(file string, args []string, a *command.Run) error {
	cmd := exec.Command(file, args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = a.Stdin, a.Raw, a.RawErr, a.Environ()
	err := cmd.Run()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return command.ExitStatus(e.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", file, err)
	}
	return nil
}
