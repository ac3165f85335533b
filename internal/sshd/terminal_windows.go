package sshd

import (
	"errors"
	"os"

	"github.com/creack/pty"
)

// openTerminal returns an error: terminals are not supported on Windows.
func openTerminal() (ours, theirs *os.File, err error) {
	return nil, nil, errors.New("terminals are not supported on Windows; run a command instead")
}

// setSize does nothing.
func setSize(*os.File, pty.Winsize) error { return nil }
