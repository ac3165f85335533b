// Command pack compresses programs for a server to serve:
//
//	pack DIRECTORY PROGRAM...
//
// Each becomes DIRECTORY/<name>.gz, with the checksums of the program in its
// header. A file that is newer than its program is left as it is.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-2a7f8fe7/coder/internal/download"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: pack DIRECTORY PROGRAM...")
		os.Exit(2)
	}
	for _, program := range os.Args[2:] {
		to := filepath.Join(os.Args[1], filepath.Base(program)+".gz")
		if upToDate(to, program) {
			continue
		}
		if err := download.Pack(to, program); err != nil {
			fmt.Fprintln(os.Stderr, "pack:", err)
			os.Exit(1)
		}
	}
}

func upToDate(to, from string) bool {
	a, err := os.Stat(to)
	if err != nil {
		return false
	}
	b, err := os.Stat(from)
	return err == nil && a.ModTime().After(b.ModTime())
}
