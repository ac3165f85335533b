package embedded

import (
	"context"
	"errors"
	"os"
	"os/exec"
)

// user is whom the child runs as.
type user struct{}

// unprivileged refuses: the server's own database is for Linux and macOS.
func unprivileged() (user, error) {
	return user{}, errors.New("there is no built-in PostgreSQL on Windows: give --postgres-url")
}

func (user) reaches(string) bool { return true }

func (user) own(string) error { return nil }

func (user) apply(*exec.Cmd) {}

func lockDir(dir string) (*os.File, error) { return os.CreateTemp(dir, "lock") }

func stopLeftover(context.Context, string) error { return nil }
