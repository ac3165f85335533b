//go:build unix && !linux

package terraform

import "syscall"

func inGroup(leader int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: leader}
}

func inNewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func interruptGroup(leader, _ int) { _ = syscall.Kill(-leader, syscall.SIGINT) }

// killGroup kills the group; other processes that are given belong to it.
func killGroup(leader int, _ ...int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }

// freeze stops a process until thaw, and says whether it could.
func freeze(pid int) bool { return syscall.Kill(pid, syscall.SIGSTOP) == nil }

func thaw(pid int) { _ = syscall.Kill(pid, syscall.SIGCONT) }
