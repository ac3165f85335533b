package terraform

import (
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/windows"
)

// inGroup puts a child, and what it starts, into a console process group of
// its own: Windows knows no others, and a child cannot join one that is there.
func inGroup(int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
}

func inNewGroup() *syscall.SysProcAttr { return inGroup(0) }

// interruptGroup sends Ctrl-Break to the group of a child, which Terraform
// takes as an interrupt. A process without a console, such as a service, cannot
// send it: then the child is killed when its grace is over.
func interruptGroup(_, child int) {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(child))
}

// killGroup kills the given processes and all that they started.
func killGroup(pids ...int) {
	args := []string{"/T", "/F"}
	for _, pid := range pids {
		args = append(args, "/PID", strconv.Itoa(pid))
	}
	_ = exec.Command("taskkill", args...).Run()
}

// freeze says that it cannot: Windows stops no processes from outside.
func freeze(int) bool { return false }

func thaw(int) {}
