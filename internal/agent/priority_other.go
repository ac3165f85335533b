//go:build !linux

package agent

import (
	"errors"
	"os/exec"
)

// prioritize does nothing: CODER_PROC_PRIO_MGMT is supported on Linux only.
// (AG-29)
func prioritize([]string) (func(*exec.Cmd), error) { return nil, nil }

// Exec is supported on Linux only.
func Exec([]string, []string) error { return errors.New("only agents on Linux can run this command") }
