//go:build !linux

package remote

import "os"

func reopenPipe(f *os.File, _ int) *os.File { return f }
