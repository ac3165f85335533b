package command

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The configuration directory holds one small file per value: url and session.

// Stored returns the content of a file in the configuration directory, without
// surrounding whitespace. It returns "" when the file does not exist.
func (a *Run) Stored(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(a.ConfigDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), err
}

// Store atomically writes a file in the configuration directory with mode 0600.
func (a *Run) Store(name, content string) error {
	if err := os.MkdirAll(a.ConfigDir, 0o700); err != nil {
		return err
	}
	return WriteFile(filepath.Join(a.ConfigDir, name), []byte(content), 0o600)
}

// Forget removes a file from the configuration directory. A missing file is not
// an error.
func (a *Run) Forget(name string) error {
	err := os.Remove(filepath.Join(a.ConfigDir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// WriteFile replaces a file atomically: readers see the old or the new content,
// never a part of it.
func WriteFile(path string, content []byte, mode fs.FileMode) error {
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
