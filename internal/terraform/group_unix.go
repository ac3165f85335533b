//go:build unix && !linux

package terraform

import "syscall"

func inGroup(leader int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pgid: leader}
}

func inNewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func interruptGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGINT) }

func killGroup(leader int) { _ = syscall.Kill(-leader, syscall.SIGKILL) }
