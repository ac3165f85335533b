package cage

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestLimitsAreWritten looks at the files in a directory that stands for a
// control group.
func TestLimitsAreWritten(t *testing.T) {
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	limits := Limits{MemoryBytes: 512 << 20, CPUs: 1.5}
	if _, err := newLimiterIn(dir, limits); err == nil {
		t.Error("a directory that is no control group was taken")
	}
	must(writeFile(dir, "cgroup.controllers", "cpuset cpu io"))
	if _, err := newLimiterIn(dir, limits); err == nil || !strings.Contains(err.Error(), "no memory controller") {
		t.Error("a group without the controller:", err)
	}
	must(writeFile(dir, "cgroup.controllers", "cpuset cpu io memory pids"))
	must(os.Mkdir(filepath.Join(dir, jobGroup+"left"), 0o700))
	l, err := newLimiterIn(dir, limits)
	must(err)
	c, err := l.Cage()
	must(err)
	for file, want := range map[string]string{
		filepath.Join(dir, "cgroup.subtree_control"):   "+memory +cpu",
		filepath.Join(c.dir.Name(), "memory.max"):      "536870912",
		filepath.Join(c.dir.Name(), "memory.swap.max"): "0",
		filepath.Join(c.dir.Name(), "cpu.max"):         "150000 100000",
	} {
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", file, got, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, jobGroup+"left")); err == nil {
		t.Error("the group of a dead daemon's job is left")
	}
	if got := c.Exceeded(); got != "" {
		t.Errorf("nothing happened yet: %q", got)
	}
	must(writeFile(c.dir.Name(), "memory.events", "low 0\noom 1\noom_kill 2\n"))
	if got := c.Exceeded(); !strings.Contains(got, "512 MiB") {
		t.Errorf("after a kill: %q", got)
	}
}

// TestCage starts a child in a real control group, which takes what it left
// behind with it.
func TestCage(t *testing.T) {
	var dir string
	for _, root := range []string{cgroups, filepath.Join(cgroups, "unified")} {
		if _, err := os.Stat(filepath.Join(root, "cgroup.procs")); err != nil {
			continue
		}
		if d, err := os.MkdirTemp(root, "coder-test-"); err == nil {
			dir = d
		}
	}
	if dir == "" {
		t.Skip("no control group can be made here")
	}
	defer os.Remove(dir)
	c, err := (&Limiter{dir: dir}).Cage()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", "sleep 600 >/dev/null 2>&1 & cat /proc/self/cgroup")
	cmd.SysProcAttr = c.Hold(&syscall.SysProcAttr{})
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Base(c.dir.Name()); !strings.Contains(string(out), want) {
		t.Errorf("the child is in %q, not in %s", out, want)
	}
	procs := filepath.Join(c.dir.Name(), "cgroup.procs")
	if b, err := os.ReadFile(procs); err != nil || len(b) == 0 {
		t.Errorf("what the child left behind is not in the group: %q, %v", b, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
