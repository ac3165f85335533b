// Package filelock locks files against other goroutines and other processes
// of this machine. A lock belongs to an open file: closing it gives the lock
// back, and so does the end of the process, however it ends. What a lock
// guards is therefore never left locked by a crash, only half done, and
// whoever gets the lock next must be able to see that.
//
// A lock is held by one, or shared by many. The file itself means nothing and
// stays.
package filelock

import (
	"context"
	"errors"
	"os"
	"time"
)

// Try takes a lock for itself at once or fails.
func Try(name string) (*os.File, error) { return open(name, false) }

// Wait takes a lock for itself, waiting until ctx ends.
func Wait(ctx context.Context, name string) (unlock func(), err error) {
	return wait(ctx, name, false)
}

// Share takes a lock that others may share, waiting until ctx ends.
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

// poll is how often a lock that is taken is tried again.
const poll = 25 * time.Millisecond

func wait(ctx context.Context, name string, shared bool) (func(), error) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		f, err := open(name, shared)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}
