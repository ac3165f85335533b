package terraform

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile takes the lock of a file at once or fails; closing gives it back,
// and so does the end of the process.
func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
