// Package filelock locks files against other goroutines and processes of this
// machine. A lock belongs to an open file: closing the file, or the end of the
// process, releases it. So a crash never leaves a lock behind, but may leave
// the protected data incomplete; the next holder must be able to detect that.
//
// A lock is exclusive or shared. The content of the file does not matter, and
// the file stays.
package filelock

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/lifecycle"
)

// Try acquires an exclusive lock, or fails at once.
func Try(name string) (*os.File, error) { return open(name, false) }

// Wait acquires an exclusive lock, waiting until ctx ends.
func Wait(ctx context.Context, name string) (unlock func(), err error) {
	return wait(ctx, name, false)
}

// Share acquires a shared lock, waiting until ctx ends.
func Share(ctx context.Context, name string) (unlock func(), err error) {
	return wait(ctx, name, true)
}

func open(name string, shared bool) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f, shared); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// poll is the interval of attempts to acquire a held lock.
const poll = 25 * time.Millisecond

func wait(ctx context.Context, name string, shared bool) (unlock func(), err error) {
	err = lifecycle.Poll(ctx, poll, nil, func(context.Context) (bool, error) {
		f, err := open(name, shared)
		if err == nil {
			unlock = func() { f.Close() }
			return true, nil
		}
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			return false, err
		}
		return false, nil
	})
	return unlock, err
}
