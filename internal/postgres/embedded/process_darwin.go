package embedded

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// user is whom the child runs as: always ourselves here.
type user struct{}

func unprivileged() (user, error) {
	if os.Geteuid() == 0 {
		return user{}, errors.New("PostgreSQL does not run as root: start the server as another user, or give --postgres-url")
	}
	return user{}, nil
}

func (user) reaches(string) bool { return true }

func (user) own(string) error { return nil }

func (user) apply(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// isPostgres reports whether the process is a PostgreSQL that was started with
// data.
func isPostgres(pid int, data string) bool {
	out, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(out), "postgres -D "+data+" ")
}
