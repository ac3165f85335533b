//go:build unix

package inside

import (
	"fmt"
	"syscall"

	"github.com/seed-2a7f8fe7/coder/internal/cli/app"
)

// become runs file in place of this process. It comes back only with an error.
func become(file string, args []string, a *app.Run) error {
	return fmt.Errorf("run %s: %w", file, syscall.Exec(file, args, a.Environ()))
}
