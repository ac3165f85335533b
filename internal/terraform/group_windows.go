package terraform

import (
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// inGroup puts a child and its descendants into a console process group of its
// own. Windows has no other groups, and a child cannot join an existing one.
func inGroup(int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

func inNewGroup() *syscall.SysProcAttr { return inGroup(0) }

// interruptGroup sends Ctrl-Break to the group of a child, which Terraform
// treats as an interrupt. A process without a console, such as a service,
// cannot send it; the child is then killed after its grace period.
func interruptGroup(_, child int) {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(child))
}

// killGroup kills the processes and their descendants.
func killGroup(pids ...int) {
	args := []string{"/T", "/F"}
	for _, pid := range pids {
		args = append(args, "/PID", strconv.Itoa(pid))
	}
	_ = exec.Command("taskkill", args...).Run()
}

// freeze returns false: Windows cannot stop a process from outside.
func freeze(int) bool { return false }

func thaw(int) {}
