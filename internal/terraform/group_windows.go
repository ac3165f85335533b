package terraform

import (
	"os/exec"
	"strconv"
	"syscall"
)

func inGroup(int) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func inNewGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// interruptGroup does nothing: Windows cannot interrupt another console's processes.
func interruptGroup(int) {}

func killGroup(leader int) {
	_ = exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(leader)).Run()
}
