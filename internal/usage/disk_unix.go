//go:build unix

package usage

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Disk tells of the file system that path is on, as df does: what only the
// system may use counts as neither used nor there.
func Disk(path string) (*Amount, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return nil, fmt.Errorf("read the use of the disk at %s: %w", path, err)
	}
	block := float64(s.Bsize)
	taken := float64(s.Blocks) - float64(s.Bfree)
	return of(taken*block, (taken+float64(s.Bavail))*block, "B"), nil
}
