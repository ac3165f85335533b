package database

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// keyFileName is the file beside the built-in database with its generated key.
const keyFileName = "encryption.key"

// readKey returns the key of a file, "" if there is no file.
func readKey(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// createKey creates a file with a new key, which only its owner can read, and returns the key. The file is
// complete or missing after a crash at any time. If another process created the file, its key is returned.
func createKey(path string) (string, error) {
	b := make([]byte, 32)
	rand.Read(b)                                                      //nolint:errcheck // documented never to fail
	f, err := os.CreateTemp(filepath.Dir(path), "."+keyFileName+"-*") // with mode 0600
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it holds an unused key or another name of the file
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(b) + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
		if err != nil {
			return "", err
		}
	}
	return readKey(path)
}
