package terraform

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
)

// TestStateIsToldAndLeft applies two resources: the state is told after each,
// and what is left is found once the session is closed, and not before.
func TestStateIsToldAndLeft(t *testing.T) {
	e := newEngine(t)
	reported := filepath.Join(t.TempDir(), "reported")
	j, _ := open(t, e, map[string]string{"main.tf": head + fmt.Sprintf(`
resource "terraform_data" "first" {}
resource "terraform_data" "second" {
  input = terraform_data.first.id
  provisioner "local-exec" { command = "until test -e %s; do sleep 0.05; done" }
}`, reported)})
	if plan, err := j.Plan(t.Context(), &provisioner.PlanRequest{Metadata: &provisioner.Metadata{}}); err != nil || plan.Error != "" {
		t.Fatal(err, plan.GetError())
	}
	var states []string
	var lag time.Duration
	j.Watch("mine", func(state []byte) {
		states = append(states, string(state))
		if err := os.WriteFile(reported, nil, 0o600); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(j.file(stateFile)); err == nil {
			lag = max(lag, time.Since(info.ModTime()))
		}
	})
	leftovers := func() (found []string) {
		err := e.Leftovers(func(claim string, state []byte) error {
			found = append(found, claim+" "+string(state))
			if len(found) > 1 {
				return errors.New("one is enough")
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	done, err := j.Apply(t.Context(), &provisioner.ApplyRequest{})
	if err != nil || done.Error != "" {
		t.Fatal(err, done.GetError())
	}
	if len(states) == 0 || !strings.Contains(states[0], `"first"`) || strings.Contains(states[0], `"second"`) {
		t.Errorf("states told: %q", states)
	}
	t.Logf("states are told within %s", lag)
	if l := leftovers(); len(l) != 0 {
		t.Errorf("a job that runs is among the dead ones: %q", l)
	}
	j.Leave()
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	refused := 0
	refuse := func(string, []byte) error {
		refused++
		return fmt.Errorf("job 1: %w", provisioner.ErrStale)
	}
	again, err := New(Config{CacheDir: e.config.CacheDir, Provider: provider})
	if err != nil {
		t.Fatal(err)
	}
	claim := filepath.Join(j.dir, claimFile)
	if err := e.Leftovers(refuse); !errors.Is(err, provisioner.ErrStale) {
		t.Errorf("a state that nobody wants: %v", err)
	}
	for _, e := range []*Engine{e, again} {
		if err := e.Leftovers(refuse); err != nil || refused != 1 {
			t.Errorf("a state that nobody wants was offered %d times: %v", refused, err)
		}
		e.sweep()
	}
	if err := os.Rename(filepath.Join(j.dir, staleFile), claim); err != nil {
		t.Fatal("the state is not kept:", err)
	}
	if l := leftovers(); len(l) != 1 || l[0] != "mine "+string(done.State) {
		t.Errorf("left: %q", l)
	}
	if l := leftovers(); len(l) != 0 {
		t.Errorf("found twice: %q", l)
	}
}
