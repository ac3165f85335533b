package devcontainer

import (
	"os/exec"
	"syscall"
)

// bind ties a command to this process: it ends when this process exits, and
// takes its child processes with it.
func bind(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
