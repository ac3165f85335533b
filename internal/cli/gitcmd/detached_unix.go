//go:build unix

package gitcmd

import "syscall"

// detached returns the attributes of a process that signals for the terminal and the session of this one do not reach.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
