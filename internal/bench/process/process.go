// Package process reads the memory and processor time of processes from proc(5) on Linux.
package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Resident returns the resident memory of a process in bytes.
func Resident(pid int) (int64, error) { return Memory(pid, "VmRSS:") }

// Memory returns the bytes in one line of a process's status, such as "VmHWM:",
// the most that were ever resident (proc(5)).
func Memory(pid int, name string) (int64, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0, err
	}
	return line(b, pid, name)
}

// line returns the bytes of a line in a file of proc(5) that has kilobytes.
func line(file []byte, pid int, name string) (int64, error) {
	for text := range strings.Lines(string(file)) {
		if rest, ok := strings.CutPrefix(text, name); ok {
			var kb int64
			_, err := fmt.Sscan(rest, &kb)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("process %d has no %s in its status", pid, name)
}

// Used returns the processor time of a process.
func Used(pid int) (time.Duration, error) { return ticks(pid, 11, 13) }

// ticks returns the sum of the fields from begin to end, after the name, in a process's stat (proc(5)).
func ticks(pid, begin, end int) (time.Duration, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	_, rest, ok := strings.Cut(string(b), ") ") // the name may hold anything
	fields := strings.Fields(rest)
	if !ok || len(fields) < end {
		return 0, fmt.Errorf("cannot read the processor time of process %d", pid)
	}
	var sum int64
	for _, f := range fields[begin:end] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return time.Duration(sum) * (time.Second / 100), nil // USER_HZ is 100 on every Linux
}

// UsedByAll returns the processor time of a process and its living descendants.
func UsedByAll(pid int) (time.Duration, error) {
	all, err := Used(pid)
	if err != nil {
		return 0, err
	}
	for _, child := range Children(pid) {
		if d, err := UsedByAll(child); err == nil { // else it has ended
			all += d
		}
	}
	return all, nil
}

// Usage is what a process and its descendants use.
type Usage struct {
	CPU time.Duration
	// Memory is the proportional set size in bytes: pages that several processes share count once in the sum.
	Memory int64
}

// Add adds the usage of other processes.
func (u *Usage) Add(more Usage) {
	u.CPU += more.CPU
	u.Memory += more.Memory
}

// Alone returns the usage of a process without its descendants.
func Alone(pid int) (Usage, error) {
	cpu, err := Used(pid)
	if err != nil {
		return Usage{}, err
	}
	memory, err := proportional(pid)
	return Usage{cpu, memory}, err
}

// Tree returns the usage of a process and its descendants. The processor time includes that of descendants that
// have ended, if their parents have waited for them.
func Tree(pid int) (Usage, error) {
	cpu, err := ticks(pid, 11, 15)
	if err != nil {
		return Usage{}, err
	}
	memory, err := proportional(pid)
	if err != nil {
		return Usage{}, err
	}
	all := Usage{cpu, memory}
	for _, child := range Children(pid) {
		if u, err := Tree(child); err == nil { // else it has ended
			all.Add(u)
		}
	}
	return all, nil
}

// Children returns the living children of a process.
func Children(pid int) (all []int) {
	tasks, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "children"))
	if err != nil {
		return nil
	}
	for _, t := range tasks {
		b, err := os.ReadFile(t)
		if err != nil {
			continue // the thread has ended
		}
		for child := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(child); err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}

// Files returns the number of open file descriptors of a process.
func Files(pid int) (int, error) {
	all, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(pid), "fd"))
	return len(all), err
}

// proportional returns the proportional set size of a process in bytes.
func proportional(pid int) (int64, error) {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0, err
	}
	return line(b, pid, "Pss:")
}

// Busy returns the processor time that all programs and the kernel of the machine have used.
func Busy() (time.Duration, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(b), "\n")
	var sum int64
	for i, f := range strings.Fields(first) {
		if i == 0 || i == 4 || i == 5 || i > 7 { // the name, idle, waiting for disks, and stolen or guests' time
			continue
		}
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return time.Duration(sum) * (time.Second / 100), nil
}
