package terraform

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestYield checks that a plan ahead, and all that it starts, runs with the lowest priority, and that jobs after it do not.
func TestYield(t *testing.T) {
	raw, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0) // 20 minus the nice value, see getpriority(2)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		for yields, want := range map[bool]string{true: "19", false: strconv.Itoa(20 - raw)} {
			out, err := run(t.Context(), "/bin/sh", t.TempDir(), 0, time.Minute, command{
				args:   []string{"-c", "(cut -d' ' -f19 /proc/self/stat)"},
				yields: yields,
			})
			if got := strings.TrimSpace(string(out)); err != nil || got != want {
				t.Errorf("yields %t: the nice value is %q, want %s (%v)", yields, got, want, err)
			}
		}
	}
}
