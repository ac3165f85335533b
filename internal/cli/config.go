package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The configuration directory holds one small file per fact: url, session.

// stored reads a file of the configuration directory; absent is "".
func (a *app) stored(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(a.configDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), err
}

// store writes a file of the configuration directory, readable by its owner
// only, in one step.
func (a *app) store(name, content string) error {
	if err := os.MkdirAll(a.configDir, 0o700); err != nil {
		return err
	}
	return writeFile(filepath.Join(a.configDir, name), []byte(content), 0o600)
}

// forget removes a file of the configuration directory.
func (a *app) forget(name string) error {
	err := os.Remove(filepath.Join(a.configDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// writeFile replaces a file in one step: nobody ever sees half of it.
func writeFile(path string, content []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // gone after the rename
	if _, err := f.Write(content); err != nil {
		f.Close()
		return err
	}
	if err := errors.Join(f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
