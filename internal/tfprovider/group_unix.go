//go:build unix

package tfprovider

import (
	"os"
	"os/signal"
	"syscall"
)

// ignoreInterrupts lets Terraform, which gets the same signals, finish its
// talk with the provider.
func ignoreInterrupts() {
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP)
}

// killGroup kills every process of the group, this one too, if it leads it.
func killGroup() {
	if syscall.Getpgrp() == os.Getpid() {
		_ = syscall.Kill(0, syscall.SIGKILL)
	}
}
