//go:build !linux

package devcontainer

import "os/exec"

// bind does nothing: only Linux has dev containers.
func bind(*exec.Cmd) {}
