package startup

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// RemoveStale removes the sockets in dir whose names match pattern and that no
// process serves any longer, as after kill -9, and returns their paths. It
// leaves other files, and sockets that it cannot check. On Windows it removes
// nothing.
func RemoveStale(dir, pattern string) (removed []string) {
	paths, _ := filepath.Glob(filepath.Join(dir, pattern)) // fails for an invalid pattern only
	for _, path := range paths {
		before, err := os.Lstat(path)
		if err != nil || before.Mode().Type() != os.ModeSocket {
			continue
		}
		c, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			c.Close() //nolint:errcheck // nothing was sent
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			continue
		}
		// Serve renames a socket to its path once it listens, so this is not a
		// socket that is about to be served, unless it was replaced meanwhile.
		if now, err := os.Lstat(path); err == nil && os.SameFile(before, now) && os.Remove(path) == nil {
			removed = append(removed, path)
		}
	}
	return removed
}
