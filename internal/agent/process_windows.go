package agent

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: there are no process groups to sign off to.
func ownGroup(*exec.Cmd) {}

// stopGroup ends p.
func stopGroup(p *os.Process, _ <-chan struct{}) {
	_ = p.Kill() // it ended already
}

// private says that dir is a directory; that of temporary files is each
// user's own.
func private(dir string) bool {
	fi, err := os.Lstat(dir)
	return err == nil && fi.IsDir()
}
