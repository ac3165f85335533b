//go:build unix

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lockDir locks the directory for this process. The kernel releases the lock when
// the process ends, for any reason.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the database lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		b := make([]byte, 32)
		n, _ := f.ReadAt(b, 0)
		f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock the database: %w", err)
		}
		return nil, fmt.Errorf(
			"the database in %s is in use by another server (process %s): stop it first, or give this one another --postgres-url or configuration directory",
			dir,
			strings.TrimSpace(string(b[:n])),
		)
	}
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, err
	}
	_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return f, err
}

// stopLeftover stops a PostgreSQL that outlived the server that started it. The
// caller holds the lock of the directory.
//
// After a crash, the process ID in postmaster.pid may belong to another process by
// now, even to another PostgreSQL. stopLeftover does not signal such a process. It
// removes the file, because PostgreSQL would conclude that the data is in use.
func stopLeftover(ctx context.Context, data string) error {
	file := filepath.Join(data, "postmaster.pid")
	b, err := os.ReadFile(file)
	if err != nil {
		return nil //nolint:nilerr // no file, so PostgreSQL stopped cleanly or never ran
	}
	first, _, _ := strings.Cut(string(b), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid <= 1 {
		return nil
	}
	if !isPostgres(pid, data) {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove the file of an earlier PostgreSQL: %w", err)
		}
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGINT); err != nil {
		return nil //nolint:nilerr // the process has exited
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for syscall.Kill(pid, 0) == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return fmt.Errorf("a PostgreSQL left by an earlier server (process %d) does not stop", pid)
		}
	}
	return nil
}
