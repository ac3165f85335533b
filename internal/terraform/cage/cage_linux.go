package cage

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Limiter creates a control group for each job, below that of this process. A
// nil Limiter creates cages without limits. It is safe for concurrent use.
type Limiter struct {
	dir    string // group that contains the groups of jobs
	limits Limits
}

// cgroups is the mount point of control groups version 2.
const cgroups = "/sys/fs/cgroup"

// New prepares the group of this process to contain the groups of jobs.
func New(l Limits) (*Limiter, error) {
	f, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if own, ok := strings.CutPrefix(sc.Text(), "0::"); ok {
			return newLimiterIn(filepath.Join(cgroups, own), l)
		}
	}
	return nil, errors.New("this system does not have control groups version 2")
}

// newLimiterIn uses a given group. A group that distributes limits must not
// contain processes, so this process moves into a group below it.
func newLimiterIn(dir string, l Limits) (*Limiter, error) {
	have, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return nil, err
	}
	var want []string
	if l.MemoryBytes > 0 {
		want = append(want, "memory")
	}
	if l.CPUs > 0 {
		want = append(want, "cpu")
	}
	words := strings.Fields(string(have))
	for _, w := range want {
		if !slices.Contains(words, w) {
			return nil, fmt.Errorf("the control group %s has no %s controller", dir, w)
		}
	}
	own := filepath.Join(dir, "coder-daemon")
	if err := os.Mkdir(own, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	if err := writeFile(own, "cgroup.procs", strconv.Itoa(os.Getpid())); err != nil {
		return nil, err
	}
	if err := writeFile(dir, "cgroup.subtree_control", "+"+strings.Join(want, " +")); err != nil {
		return nil, err
	}
	left, _ := filepath.Glob(filepath.Join(dir, jobGroup+"*"))
	for _, d := range left {
		_ = os.Remove(d) // left by a daemon that died; fails while a process runs in it
	}
	return &Limiter{dir, l}, nil
}

const jobGroup = "coder-job-"

func writeFile(dir, file, value string) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644)
}

// Cage is the control group of one job; a nil Cage limits nothing.
type Cage struct {
	dir    *os.File
	memory int64
}

// Cage creates the group of a job.
func (l *Limiter) Cage() (*Cage, error) {
	if l == nil {
		return nil, nil
	}
	dir, err := os.MkdirTemp(l.dir, jobGroup)
	if err != nil {
		return nil, err
	}
	if l.limits.MemoryBytes > 0 {
		err = writeFile(dir, "memory.max", strconv.FormatInt(l.limits.MemoryBytes, 10))
		_ = writeFile(dir, "memory.swap.max", "0") // missing without swap
		_ = writeFile(dir, "memory.oom.group", "1")
	}
	if l.limits.CPUs > 0 {
		const period = 100_000 // microseconds
		err = errors.Join(err, writeFile(dir, "cpu.max", fmt.Sprintf("%d %d", int64(l.limits.CPUs*period), period)))
	}
	c := &Cage{memory: l.limits.MemoryBytes}
	if err == nil {
		c.dir, err = os.Open(dir)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(dir))
	}
	return c, nil
}

// Hold starts a child inside the group.
func (c *Cage) Hold(a *syscall.SysProcAttr) *syscall.SysProcAttr {
	if c != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(c.dir.Fd())
	}
	return a
}

// Exceeded returns a text for the job's error if a process was killed for lack
// of memory, or "".
func (c *Cage) Exceeded() string {
	if c == nil || c.memory == 0 {
		return ""
	}
	b, _ := os.ReadFile(filepath.Join(c.dir.Name(), "memory.events"))
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok && n != "0" {
			return fmt.Sprintf("; it was killed because it used more than %d MiB of memory, the provisioner's limit for a build (--slot-memory)", c.memory>>20)
		}
	}
	return ""
}

// Close kills the remaining processes of the group and removes it.
func (c *Cage) Close() error {
	if c == nil {
		return nil
	}
	dir := c.dir.Name()
	_ = writeFile(dir, "cgroup.kill", "1") // Linux 5.14
	var err error
	for wait := time.Millisecond; wait < time.Second; wait *= 2 {
		if err = os.Remove(dir); err == nil || !errors.Is(err, syscall.EBUSY) {
			break
		}
		time.Sleep(wait) // until the killed processes are gone
	}
	return errors.Join(err, c.dir.Close())
}
