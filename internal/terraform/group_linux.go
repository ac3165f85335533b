package terraform

import "syscall"

// inGroup puts a child into a process group, a new one of its own when leader
// is 0, and lets it die with this process.
func inGroup(leader int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: leader, Pdeathsig: syscall.SIGKILL}
}

// inNewGroup is for the leader, which notices by itself when this process is
// gone and then kills the group.
func inNewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func interruptGroup(leader, _ int) { _ = syscall.Kill(-leader, syscall.SIGINT) }

// killGroup kills the group; other processes that are given belong to it.
func killGroup(leader int, _ ...int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }

// freeze stops a process until thaw, and says whether it could.
func freeze(pid int) bool { return syscall.Kill(pid, syscall.SIGSTOP) == nil }

func thaw(pid int) { _ = syscall.Kill(pid, syscall.SIGCONT) }
