package sysstat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func (m Machine) read(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(m.Root, name))
	return strings.TrimSpace(string(b)), err
}

// ticksPerSecond is the unit of /proc/stat, which is the same on all platforms
// that Go supports.
const ticksPerSecond = 100

// hostCPU reads the busy CPU time from /proc/stat.
func (m Machine) hostCPU(ctx context.Context) (*Amount, error) {
	n := 0.0
	busy, err := measureBusyCores(ctx, func() (float64, error) {
		text, err := m.read("proc/stat")
		if err != nil {
			return 0, err
		}
		n = 0
		sum := 0.0
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			if len(f) > 0 && strings.HasPrefix(f[0], "cpu") && f[0] != "cpu" {
				n++
			}
			if len(f) < 5 || f[0] != "cpu" {
				continue
			}
			for i, v := range f[1:min(len(f), 9)] { // later fields are guest time, which user time includes
				const idle, waiting = 3, 4
				if t, err := strconv.ParseFloat(v, 64); err == nil && i != idle && i != waiting {
					sum += t
				}
			}
		}
		return sum / ticksPerSecond, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the CPU usage: %w", err)
	}
	return of(min(busy, n), n, "cores"), nil
}

// hostMemory reads the memory usage from /proc/meminfo.
func (m Machine) hostMemory() (*Amount, error) {
	text, err := m.read("proc/meminfo")
	if err != nil {
		return nil, fmt.Errorf("read the memory usage: %w", err)
	}
	kb := map[string]float64{}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, ":")
		if f := strings.Fields(rest); len(f) > 0 {
			kb[name], _ = strconv.ParseFloat(f[0], 64) // counts as 0
		}
	}
	total := kb["MemTotal"] * 1024
	return of(total-kb["MemAvailable"]*1024, total, "B"), nil
}

// container is the control group of this process, of version 2 (one directory)
// or version 1.
type container struct {
	Machine
	v2             bool
	processor, ram string // directories under root
}

// container returns the control group of this process if that is a container's.
// A group counts as one if it has limits, or if the machine has the marks of a
// container runtime.
func (m Machine) container() (container, bool) {
	own := map[string]string{} // controller ("" for version 2) to path
	text, err := m.read("proc/self/cgroup")
	if err != nil {
		return container{}, false
	}
	for line := range strings.Lines(text) {
		if f := strings.SplitN(strings.TrimSpace(line), ":", 3); len(f) == 3 {
			for name := range strings.SplitSeq(f[1], ",") {
				own[name] = f[2]
			}
		}
	}
	c := container{Machine: m}
	const base = "sys/fs/cgroup"
	if _, err := m.read(base + "/cgroup.controllers"); err == nil {
		c.v2 = true
		c.processor = m.limited(base, own[""], "cpu.max", "memory.max")
		c.ram = c.processor
	} else {
		c.processor = m.limited(base+"/cpu", own["cpu"], "cpu.cfs_quota_us")
		c.ram = m.limited(base+"/memory", own["memory"], "memory.limit_in_bytes")
	}
	if c.processor == "" || c.ram == "" {
		return container{}, false
	}
	_, cores := c.cores()
	_, bytes := c.limit()
	return c, cores || bytes || m.inContainer(text)
}

// limited returns the directory of a group or its nearest parent in which one
// of the files sets a limit. Without any limit it returns the group itself.
func (m Machine) limited(base, path string, files ...string) string {
	var first string
	for dir := filepath.Clean("/" + path); ; dir = filepath.Dir(dir) {
		at := filepath.Join(base, dir)
		for _, f := range files {
			text, err := m.read(filepath.Join(at, f))
			if err != nil {
				continue
			}
			if first == "" {
				first = at
			}
			if v, err := strconv.ParseFloat(strings.Fields(text + " max")[0], 64); err == nil && v > 0 && v < unlimited {
				return at
			}
		}
		if dir == "/" {
			break
		}
	}
	if _, err := os.Stat(filepath.Join(m.Root, base)); first == "" && err == nil {
		return base // the root group has neither limits nor these files
	}
	return first
}

// inContainer checks for the marks of common container runtimes.
func (m Machine) inContainer(own string) bool {
	for _, f := range []string{".dockerenv", "run/.containerenv", "var/run/secrets/kubernetes.io"} {
		if _, err := os.Stat(filepath.Join(m.Root, f)); err == nil {
			return true
		}
	}
	for _, mark := range []string{"docker", "kubepods", "containerd", "libpod", "lxc", "garden", "buildkit"} {
		if strings.Contains(own, mark) {
			return true
		}
	}
	return false
}

// unlimited is the value from which a limit of version 1 means none.
const unlimited = 1 << 60

// seconds returns the CPU time of the group.
func (c container) seconds() (float64, error) {
	if !c.v2 {
		for _, dir := range []string{c.processor, strings.Replace(c.processor, "sys/fs/cgroup/cpu", "sys/fs/cgroup/cpuacct", 1)} {
			if text, err := c.read(dir + "/cpuacct.usage"); err == nil {
				ns, err := strconv.ParseFloat(text, 64)
				return ns / 1e9, err
			}
		}
		return 0, errNoContainer
	}
	text, err := c.read(c.processor + "/cpu.stat")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "usage_usec" {
			us, err := strconv.ParseFloat(f[1], 64)
			return us / 1e6, err
		}
	}
	return 0, errNoContainer
}

// cores returns the CPU limit of the group in cores, or false without a limit.
func (c container) cores() (float64, bool) {
	var quota, period string
	if c.v2 {
		text, _ := c.read(c.processor + "/cpu.max")
		quota, period, _ = strings.Cut(text, " ")
	} else {
		quota, _ = c.read(c.processor + "/cpu.cfs_quota_us")
		period, _ = c.read(c.processor + "/cpu.cfs_period_us")
	}
	q, err := strconv.ParseFloat(quota, 64)
	p, err2 := strconv.ParseFloat(period, 64)
	return q / p, err == nil && err2 == nil && q > 0 && p > 0
}

func (c container) cpu(ctx context.Context) (*Amount, error) {
	busy, err := measureBusyCores(ctx, c.seconds)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, errors.Join(errNoContainer, err)
	}
	n, ok := c.cores()
	if !ok {
		return &Amount{Used: busy, Unit: "cores"}, nil
	}
	return of(busy, n, "cores"), nil
}

// limit returns the memory limit of the group in bytes, or false without a
// limit.
func (c container) limit() (float64, bool) {
	name := "/memory.limit_in_bytes"
	if c.v2 {
		name = "/memory.max"
	}
	text, _ := c.read(c.ram + name)
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && v < unlimited
}

// memory returns the memory usage without reclaimable memory, the inactive part
// of the file cache.
func (c container) memory() (*Amount, error) {
	name, cache := "/memory.usage_in_bytes", "total_inactive_file"
	if c.v2 {
		name, cache = "/memory.current", "inactive_file"
	}
	text, err := c.read(c.ram + name)
	if err != nil {
		return nil, errors.Join(errNoContainer, err)
	}
	bytes, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, err
	}
	detail, _ := c.read(c.ram + "/memory.stat")
	for line := range strings.Lines(detail) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == cache {
			v, _ := strconv.ParseFloat(f[1], 64) // counts as 0
			bytes = max(0, bytes-v)
		}
	}
	total, ok := c.limit()
	if !ok {
		return &Amount{Used: bytes, Unit: "B"}, nil
	}
	return of(bytes, total, "B"), nil
}
