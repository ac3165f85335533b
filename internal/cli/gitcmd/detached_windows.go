package gitcmd

import (
	"syscall"

	"golang.org/x/sys/windows"
)

// detached returns the attributes of a process without the console of this one.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.DETACHED_PROCESS | windows.CREATE_NEW_PROCESS_GROUP}
}
