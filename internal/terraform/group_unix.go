//go:build unix && !linux

package terraform

import "syscall"

func inGroup(leader int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: leader}
}

func inNewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func interruptGroup(leader, _ int) { _ = syscall.Kill(-leader, syscall.SIGINT) }

// killGroup kills the group. The other processes belong to it.
func killGroup(leader int, _ ...int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }

// freeze stops a process until thaw, and reports whether it succeeded.
func freeze(pid int) bool { return syscall.Kill(pid, syscall.SIGSTOP) == nil }

func thaw(pid int) { _ = syscall.Kill(pid, syscall.SIGCONT) }
