//go:build !linux

package devcontainer

import "os/exec"

// bind does nothing: dev containers are supported on Linux only.
func bind(*exec.Cmd) {}
