package sysstat

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// hostCPU adds up the CPU usage of all processes in ps.
func (m Machine) hostCPU(ctx context.Context) (*Amount, error) {
	out, err := exec.CommandContext(ctx, "ps", "-A", "-o", "%cpu=").Output()
	if err != nil {
		return nil, fmt.Errorf("read the CPU usage from ps: %w", err)
	}
	sum := 0.0
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		v, _ := strconv.ParseFloat(strings.TrimSpace(strings.ReplaceAll(lines.Text(), ",", ".")), 64) // counts as 0
		sum += v / 100
	}
	return of(min(sum, processors()), processors(), "cores"), nil
}

var (
	pageSize = regexp.MustCompile(`page size of (\d+) bytes`)
	pages    = regexp.MustCompile(`(?m)^Pages (active|wired down|occupied by compressor):\s+(\d+)\.`)
)

// hostMemory adds up pages of vm_stat.
func (m Machine) hostMemory() (*Amount, error) {
	total, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return nil, fmt.Errorf("read the memory size: %w", err)
	}
	out, err := exec.Command("vm_stat").Output()
	if err != nil {
		return nil, fmt.Errorf("read the memory usage from vm_stat: %w", err)
	}
	size := 4096.0
	if g := pageSize.FindSubmatch(out); g != nil {
		size, _ = strconv.ParseFloat(string(g[1]), 64) // digits
	}
	sum := 0.0
	for _, g := range pages.FindAllStringSubmatch(string(out), -1) {
		v, _ := strconv.ParseFloat(g[2], 64) // digits
		sum += v * size
	}
	return of(sum, float64(total), "B"), nil
}
