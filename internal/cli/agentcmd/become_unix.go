//go:build unix

package agentcmd

import (
	"fmt"
	"syscall"

	"github.com/seed-2a7f8fe7/coder/internal/cli/command"
)

// become replaces this process by file. It returns only on error.
func become(file string, args []string, a *command.Run) error {
	return fmt.Errorf("run %s: %w", file, syscall.Exec(file, args, a.Environ()))
}
