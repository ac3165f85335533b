//go:build unix

package terraform

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes the lock of a file at once or fails; closing gives it back,
// and so does the end of the process.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
