//go:build !darwin && !windows

package cli

import "github.com/seed-2a7f8fe7/coder/internal/cli/command"

// systemKeyring returns nil: on this system sessions are stored in a file.
func systemKeyring() command.Keyring { return nil }
