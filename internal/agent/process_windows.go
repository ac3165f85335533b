package agent

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: Windows has no process groups in this sense.
func ownGroup(*exec.Cmd) {}

// stopGroup kills p.
func stopGroup(p *os.Process, _ <-chan struct{}) {
	_ = p.Kill() // fails if p has already ended
}

// private reports whether dir is a directory. Each user has their own directory
// for temporary files.
func private(dir string) bool {
	fi, err := os.Lstat(dir)
	return err == nil && fi.IsDir()
}
