package embedded

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// processUser is the user that PostgreSQL runs as. Windows has no implementation.
type processUser struct{}

// findUnprivilegedUser returns an error: the built-in PostgreSQL needs Linux or
// macOS.
func findUnprivilegedUser() (processUser, error) {
	return processUser{}, errors.New("there is no built-in PostgreSQL on Windows: give --postgres-url")
}

func (processUser) canReach(string) bool { return true }

func (processUser) chown(string) error { return nil }

func (processUser) configure(*exec.Cmd) {}

func lockDir(dir string) (*os.File, error) { return os.CreateTemp(dir, "lock") }

func stopLeftover(context.Context, string) error { return nil }
