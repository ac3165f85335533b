//go:build unix

package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// TestInterrupts runs a shell in the place of Terraform. The grace is longer
// than the test may take, so whatever is not ended rightly does not end.
func TestInterrupts(t *testing.T) {
	after := func(n int) func() bool { // false so often, then true
		var calls atomic.Int32
		return func() bool { return int(calls.Add(1)) > n }
	}
	for _, c := range []struct {
		name, script string
		started      func() bool
		says         string
	}{
		{"makes nothing and minds", `trap 'echo minded; exit 3' INT; echo ready; while :; do sleep 0.02; done`, nil, "minded"},
		{"makes nothing and minds the second only", `trap 'n=x$n; [ $n = xx ] && echo twice && exit 3' INT; echo ready; while :; do sleep 0.02; done`, nil, "twice"},
		{"has started", `trap 'echo kept; exit 3' INT; echo ready; while :; do sleep 0.02; done`, after(0), "kept"},
		{"has started, as it turns out", `trap 'echo kept; exit 3' INT; echo ready; while :; do sleep 0.02; done`, after(1), "kept"},
		{"has not started and would lose the interrupt", `trap 'echo lost' INT; echo ready; while :; do sleep 0.02; done`, after(1 << 30), "ready"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			leader := exec.Command("sleep", "600")
			leader.SysProcAttr = inNewGroup()
			if err := leader.Start(); err != nil {
				t.Fatal(err)
			}
			defer leader.Wait() //nolint:errcheck // it was killed
			defer killGroup(leader.Process.Pid)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var said []string
			_, err := run(ctx, "/bin/sh", t.TempDir(), leader.Process.Pid, time.Hour, command{
				args: []string{"-c", c.script}, started: c.started,
				stdout: func(line []byte) {
					if said = append(said, string(line)); string(line) == "ready" {
						cancel()
					}
				},
			})
			exit, ok := errors.AsType[*exitError](err)
			if !ok || !exit.canceled || said[len(said)-1] != c.says {
				t.Errorf("it ends with %v and said %q", err, said)
			}
		})
	}
}

// TestEarlyInterrupts interrupts real applies at several moments from their
// start on. Each ends, although the grace is an hour, and what was made is in
// the state.
func TestEarlyInterrupts(t *testing.T) {
	needTerraform(t)
	t.Setenv("TF_CLI_CONFIG_FILE", "/nonexistent")
	e, err := New(Config{CacheDir: t.TempDir(), Grace: time.Hour, Provider: provider})
	if err != nil {
		t.Fatal(err)
	}
	for ms := range 12 {
		made := filepath.Join(t.TempDir(), "made")
		j, init := open(t, e, map[string]string{"main.tf": fmt.Sprintf(`
resource "terraform_data" "slow" {
  provisioner "local-exec" { command = "touch %s; sleep 600" }
}`, made)})
		if init.Error != "" {
			t.Fatal(init.Error)
		}
		plan, err := j.Plan(t.Context(), &provisioner.PlanRequest{Metadata: &provisioner.Metadata{WorkspaceTransition: provisioner.WorkspaceTransition_START}})
		if err != nil || plan.Error != "" {
			t.Fatal(err, plan)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(ms*40)*time.Millisecond)
		apply, err := j.Apply(ctx, &provisioner.ApplyRequest{})
		cancel()
		if err != nil || !strings.Contains(apply.Error, "canceled") {
			t.Fatalf("after %d ms: %v, %q", ms*40, err, apply.GetError())
		}
		_, missing := os.Stat(made)
		var state struct{ Resources []struct{ Name string } }
		if err := json.Unmarshal(apply.State, &state); len(apply.State) > 0 && err != nil {
			t.Fatalf("after %d ms the state is %q", ms*40, apply.State)
		}
		if missing == nil && len(state.Resources) == 0 {
			t.Errorf("after %d ms something is made and in no state", ms*40)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}
}
