//go:build unix

package tfprovider

import (
	"os"
	"os/signal"
	"syscall"
)

// ignoreInterrupts lets Terraform, which receives the same signals, finish its
// calls to the provider.
func ignoreInterrupts() {
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP)
}

// killGroup kills every process of the group, including this one, if it leads
// the group.
func killGroup() {
	if syscall.Getpgrp() == os.Getpid() {
		_ = syscall.Kill(0, syscall.SIGKILL)
	}
}
