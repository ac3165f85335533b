package process_test

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/bench/process"
)

// TestTree reads the usage of this process and its child.
func TestTree(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("proc(5) exists on Linux only")
	}
	alone, err := process.Alone(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if alone.Memory == 0 {
		t.Error("this process has no memory")
	}
	sleeper := exec.Command("sleep", "600")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { sleeper.Process.Kill(); sleeper.Wait() }() //nolint:errcheck // killed
	found := false
	for _, child := range process.Children(os.Getpid()) {
		found = found || child == sleeper.Process.Pid
	}
	if !found {
		t.Error("the children lack one")
	}
	used, err := process.Used(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	all, err := process.Tree(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if all.CPU < used {
		t.Errorf("the tree used %s, this process alone %s", all.CPU, used)
	}
	if files, err := process.Files(os.Getpid()); err != nil || files < 3 {
		t.Errorf("%d files are open: %v", files, err)
	}
	if busy, err := process.Busy(); err != nil || busy < used {
		t.Errorf("the machine was busy for %s, less than this process: %v", busy, err)
	}
}
