package terraform

import "syscall"

// inGroup puts a child into a process group, a new one if leader is 0, and
// makes it die with this process.
func inGroup(leader int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: leader, Pdeathsig: syscall.SIGKILL}
}

// inNewGroup is for the leader, which notices the end of this process and then
// kills the group.
func inNewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func interruptGroup(leader, _ int) { _ = syscall.Kill(-leader, syscall.SIGINT) }

// killGroup kills the group. The other processes belong to it.
func killGroup(leader int, _ ...int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }

// freeze stops a process until thaw, and reports whether it succeeded.
func freeze(pid int) bool { return syscall.Kill(pid, syscall.SIGSTOP) == nil }

func thaw(pid int) { _ = syscall.Kill(pid, syscall.SIGCONT) }
