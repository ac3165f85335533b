//go:build !linux

package agent

import (
	"errors"
	"os/exec"
)

// prioritize does nothing: CODER_PROC_PRIO_MGMT is for Linux alone. (AG-29)
func prioritize([]string) (func(*exec.Cmd), error) { return nil, nil }

// Exec is for Linux alone.
func Exec([]string, []string) error { return errors.New("this is for agents on Linux alone") }
