//go:build !linux

package sshd

import "os"

// setModes does nothing on this system.
func setModes(*os.File, []byte) error { return nil }
