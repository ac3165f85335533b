//go:build unix

package agent

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// ownGroup starts cmd in its own session and process group.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killDelay is the time between SIGTERM and SIGKILL for a process group.
const killDelay = 5 * time.Second

// stopGroup sends SIGTERM to the group of p, and SIGKILL when ended is not
// closed after killDelay.
func stopGroup(p *os.Process, ended <-chan struct{}) {
	_ = syscall.Kill(-p.Pid, syscall.SIGTERM) // fails if the group has already ended
	select {
	case <-ended:
	case <-time.After(killDelay):
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
}

// private reports whether dir is a directory of this user that no other user
// can write to.
func private(dir string) bool {
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() || fi.Mode().Perm()&0o022 != 0 {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
