// Package sysstat measures the CPU, memory and disk usage of a workspace: of
// the container around this process, by control groups of version 1 or 2, or of
// the machine. (AG-24)
package sysstat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Amount is the usage of a resource, and its limit if there is one.
type Amount struct {
	Used  float64  `json:"used"`
	Total *float64 `json:"total"`
	Unit  string   `json:"unit"` // cores, or B for bytes
}

func of(used, total float64, unit string) *Amount {
	return &Amount{Used: used, Total: &total, Unit: unit}
}

// Text formats the amount, in bytes with the given binary prefix, such as
// "1.2/4 cores (30%)" or "3.1/7.7 GiB (40%)". A nil amount is "not available".
func (a *Amount) Text(prefix string) string {
	if a == nil {
		return "not available"
	}
	scale, unit := 1.0, a.Unit
	if a.Unit == "B" {
		scale, unit = map[string]float64{"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}[prefix], prefix+"B"
	}
	short := func(f float64) string { return strings.TrimSuffix(strconv.FormatFloat(f/scale, 'f', 1, 64), ".0") }
	if a.Total == nil {
		return short(a.Used) + " " + unit
	}
	s := short(a.Used) + "/" + short(*a.Total) + " " + unit
	if *a.Total > 0 {
		s += fmt.Sprintf(" (%.0f%%)", 100*a.Used / *a.Total)
	}
	return s
}

// samplePeriod is the period over which CPU usage is measured. Metadata scripts
// wait for it.
const samplePeriod = 200 * time.Millisecond

// measureBusyCores samples a counter of CPU seconds twice and returns the number of busy
// cores.
func measureBusyCores(ctx context.Context, seconds func() (float64, error)) (float64, error) {
	before, err := seconds()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	select {
	case <-time.After(samplePeriod):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := seconds()
	if err != nil {
		return 0, err
	}
	return max(0, (after-before)/time.Since(begin).Seconds()), nil
}

// errNoContainer is returned when this process is not in a container with usage
// data.
var errNoContainer = errors.New("this process is not in a container that reports its usage; use --host to show the machine")

// Overview holds all amounts; nil for those that are not available.
type Overview struct {
	HostCPU         *Amount `json:"host_cpu"`
	HostMemory      *Amount `json:"host_memory"`
	HomeDisk        *Amount `json:"home_disk"`
	ContainerCPU    *Amount `json:"container_cpu"`
	ContainerMemory *Amount `json:"container_memory"`
}

// Machine is the machine of this process, and the container around it. Root is
// / except in tests.
type Machine struct{ Root string }

// CPU returns the number of busy cores and the limit: of the container if there
// is one and host is false. It takes samplePeriod.
func (m Machine) CPU(ctx context.Context, host bool) (*Amount, error) {
	if c, ok := m.container(); ok && !host {
		return c.cpu(ctx)
	}
	return m.hostCPU(ctx)
}

// Memory returns the used bytes of memory and the limit: of the container if
// there is one and host is false.
func (m Machine) Memory(host bool) (*Amount, error) {
	if c, ok := m.container(); ok && !host {
		return c.memory()
	}
	return m.hostMemory()
}

// Overview returns all amounts. The disk is the one that contains home.
func (m Machine) Overview(ctx context.Context, home string) Overview {
	var o Overview
	got := make(chan *Amount, 1)
	go func() {
		v, _ := m.hostCPU(ctx) // shown as not available
		got <- v
	}()
	if c, ok := m.container(); ok {
		o.ContainerCPU, _ = c.cpu(ctx)
		o.ContainerMemory, _ = c.memory()
	}
	o.HostMemory, _ = m.hostMemory()
	if _, err := os.Stat(home); err == nil {
		o.HomeDisk, _ = Disk(home)
	}
	o.HostCPU = <-got
	return o
}
