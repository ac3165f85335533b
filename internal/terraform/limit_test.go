package terraform

import (
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/internal/terraform/cage"
)

// TestWithoutControlGroups runs without them and expects one warning.
func TestWithoutControlGroups(t *testing.T) {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		t.Skip("control groups may be used here, and this test moves into none")
	}
	var log strings.Builder
	e, err := New(Config{CacheDir: t.TempDir(), Limits: cage.Limits{CPUs: 1e-9, MemoryBytes: 1}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if e.limiter != nil || strings.Count(log.String(), "without resource limits") != 1 {
		t.Errorf("the log is %q", log.String())
	}
	if c, err := e.limiter.Cage(); c != nil || err != nil {
		t.Error(c, err)
	}
}
