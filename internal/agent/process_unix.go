//go:build unix

package agent

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// ownGroup gives cmd a session, and so a process group, of its own.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killDelay is how long a process group may take to end when told to.
const killDelay = 5 * time.Second

// stopGroup tells the group of p to end, and kills it when it did not by the
// time that ended should be closed.
func stopGroup(p *os.Process, ended <-chan struct{}) {
	_ = syscall.Kill(-p.Pid, syscall.SIGTERM) // it ended already
	select {
	case <-ended:
	case <-time.After(killDelay):
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
}

// private says that dir is a directory of ours that nobody else can write to.
func private(dir string) bool {
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() || fi.Mode().Perm()&0o022 != 0 {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
