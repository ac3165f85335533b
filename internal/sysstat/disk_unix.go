//go:build unix

package sysstat

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Disk returns the usage of the file system that contains path. Like df, it
// counts reserved blocks as neither used nor available.
func Disk(path string) (*Amount, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return nil, fmt.Errorf("read the disk usage of %s: %w", path, err)
	}
	block := float64(s.Bsize)
	taken := float64(s.Blocks) - float64(s.Bfree)
	return of(taken*block, (taken+float64(s.Bavail))*block, "B"), nil
}
