package embedded

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// processUser is the user that PostgreSQL runs as: on macOS, always the user of
// this process.
type processUser struct{}

func findUnprivilegedUser() (processUser, error) {
	if os.Geteuid() == 0 {
		return processUser{}, errors.New("PostgreSQL does not run as root: start the server as another user, or give --postgres-url")
	}
	return processUser{}, nil
}

func (processUser) canReach(string) bool { return true }

func (processUser) chown(string) error { return nil }

func (processUser) configure(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// isPostgres reports whether the process is a PostgreSQL with this data directory.
func isPostgres(pid int, data string) bool {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(out), "postgres -D "+data+" ")
}
