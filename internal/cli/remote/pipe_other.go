//go:build !linux

package remote

import "os"

func swiftPipe(f *os.File, _ int) *os.File { return f }
