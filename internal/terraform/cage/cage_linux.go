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

// Limiter makes a control group for each job, below that of this process. A nil
// one makes cages that limit nothing. It is safe for concurrent use.
type Limiter struct {
	dir    string // of the group that jobs' groups are made in
	limits Limits
}

// cgroups is where version 2 of control groups is mounted.
const cgroups = "/sys/fs/cgroup"

// New prepares the group of this process to have groups of jobs in it.
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
	return nil, errors.New("this system has no version 2 of control groups")
}

// newLimiterIn works in a given group. A group that hands limits out to others
// may hold no process itself, so this one moves into a group below.
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
	if err := put(own, "cgroup.procs", strconv.Itoa(os.Getpid())); err != nil {
		return nil, err
	}
	if err := put(dir, "cgroup.subtree_control", "+"+strings.Join(want, " +")); err != nil {
		return nil, err
	}
	left, _ := filepath.Glob(filepath.Join(dir, jobGroup+"*"))
	for _, d := range left {
		_ = os.Remove(d) // of a daemon that died; refused while something runs in it
	}
	return &Limiter{dir, l}, nil
}

const jobGroup = "coder-job-"

func put(dir, file, value string) error {
	return os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644)
}

// Cage is the control group of one job; a nil one limits nothing.
type Cage struct {
	dir    *os.File
	memory int64
}

// Cage makes a job's group.
func (l *Limiter) Cage() (*Cage, error) {
	if l == nil {
		return nil, nil
	}
	dir, err := os.MkdirTemp(l.dir, jobGroup)
	if err != nil {
		return nil, err
	}
	if l.limits.MemoryBytes > 0 {
		err = put(dir, "memory.max", strconv.FormatInt(l.limits.MemoryBytes, 10))
		_ = put(dir, "memory.swap.max", "0") // not there without swap
		_ = put(dir, "memory.oom.group", "1")
	}
	if l.limits.CPUs > 0 {
		const period = 100_000 // microseconds
		err = errors.Join(err, put(dir, "cpu.max", fmt.Sprintf("%d %d", int64(l.limits.CPUs*period), period)))
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

// Hold lets a child begin inside of the group.
func (c *Cage) Hold(a *syscall.SysProcAttr) *syscall.SysProcAttr {
	if c != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(c.dir.Fd())
	}
	return a
}

// Exceeded says that something was killed because the memory was not enough.
func (c *Cage) Exceeded() string {
	if c == nil || c.memory == 0 {
		return ""
	}
	b, _ := os.ReadFile(filepath.Join(c.dir.Name(), "memory.events"))
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "oom_kill "); ok && n != "0" {
			return fmt.Sprintf("; it was killed for taking more than the %d MiB of memory that the provisioner leaves a build (--slot-memory)", c.memory>>20)
		}
	}
	return ""
}

// Close kills what is left in the group and removes it.
func (c *Cage) Close() error {
	if c == nil {
		return nil
	}
	dir := c.dir.Name()
	_ = put(dir, "cgroup.kill", "1") // Linux 5.14
	var err error
	for wait := time.Millisecond; wait < time.Second; wait *= 2 {
		if err = os.Remove(dir); err == nil || !errors.Is(err, syscall.EBUSY) {
			break
		}
		time.Sleep(wait) // until the killed are gone
	}
	return errors.Join(err, c.dir.Close())
}
