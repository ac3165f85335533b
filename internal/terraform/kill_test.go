//go:build linux

package terraform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/graph"
	"github.com/seed-2a7f8fe7/coder/internal/terraform/initcache"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

var killRounds = flag.Int("kill-rounds", 3, "workspaces that TestRandomKills builds")

// childVariable names the directory of a job that the test binary is to run
// instead of tests: a provisioner that can be killed.
const childVariable = "TERRAFORM_TEST_CHILD"

// victim is a workspace whose builds run in processes of their own. Its
// directory has the template, the state that the next build starts from, the
// state that was reported last, and what the scripts of the template wrote.
type victim struct {
	dir string
	t   *testing.T
}

func newVictim(t *testing.T, source string) *victim {
	t.Helper()
	needTerraform(t)
	v := &victim{dir: t.TempDir(), t: t}
	v.write("source", pack(t, map[string]string{"main.tf": strings.ReplaceAll(source, "DIR", v.dir)}))
	return v
}

func (v *victim) write(name string, b []byte) {
	v.t.Helper()
	if err := os.WriteFile(filepath.Join(v.dir, name), b, 0o600); err != nil {
		v.t.Fatal(err)
	}
}

func (v *victim) read(name string) []byte {
	b, err := os.ReadFile(filepath.Join(v.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		v.t.Fatal(err)
	}
	return b
}

// lines are what scripts wrote to a file.
func (v *victim) lines(name string) []string { return strings.Fields(string(v.read(name))) }

// running is a build in a process of its own. Only the goroutine that start
// starts waits for it; ended receives the result once.
type running struct {
	*os.Process
	ended <-chan error
}

// start starts a build in a process of its own.
func (v *victim) start(transition provisioner.WorkspaceTransition) running {
	v.t.Helper()
	own, err := os.Executable()
	if err != nil {
		v.t.Fatal(err)
	}
	for _, name := range []string{"told", "log"} {
		if err := os.RemoveAll(filepath.Join(v.dir, name)); err != nil {
			v.t.Fatal(err)
		}
	}
	cmd := exec.Command(own)
	cmd.Env = append(os.Environ(), childVariable+"="+v.dir, "TERRAFORM_TEST_TRANSITION="+transition.String(), "TF_CLI_CONFIG_FILE=/nonexistent")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		v.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return running{cmd.Process, ended}
}

// child runs the build of a victim and returns the exit status of the process.
func child(dir string) int {
	err := func() error {
		e, err := New(Config{CacheDir: filepath.Join(dir, "cache"), Provider: provider})
		if err != nil {
			return err
		}
		log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		ctx := context.Background()
		s, err := e.Open(ctx, &provisioner.Config{}, func(l *provisioner.Log) { fmt.Fprintln(log, l.GetOutput()) })
		if err != nil {
			return err
		}
		source, err1 := os.ReadFile(filepath.Join(dir, "source"))
		state, err2 := os.ReadFile(filepath.Join(dir, "state"))
		if errors.Is(err2, os.ErrNotExist) {
			err2 = nil
		}
		if err := errors.Join(err1, err2); err != nil {
			return err
		}
		m := metadata(provisioner.WorkspaceTransition(provisioner.WorkspaceTransition_value[os.Getenv("TERRAFORM_TEST_TRANSITION")]))
		check := func(v interface{ GetError() string }, err error) error {
			if err == nil && v.GetError() != "" {
				err = errors.New(v.GetError())
			}
			return err
		}
		if err := check(s.Init(ctx, &provisioner.InitRequest{TemplateSourceArchive: source})); err != nil {
			return err
		}
		if err := check(s.Plan(ctx, &provisioner.PlanRequest{Metadata: m, State: state})); err != nil {
			return err
		}
		s.(*session).Watch("mine", func(state []byte) {
			if err := initcache.WriteFile(filepath.Join(dir, "told"), state); err != nil {
				panic(err)
			}
		})
		applied, err := s.Apply(ctx, &provisioner.ApplyRequest{Metadata: m})
		if err := check(applied, err); err != nil {
			return err
		}
		return errors.Join(initcache.WriteFile(filepath.Join(dir, "state"), applied.GetState()), s.Close())
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	return 0
}

// kill is kill -9 of a build, after which nothing of it runs on.
func (v *victim) kill(build running) {
	v.t.Helper()
	build.Signal(syscall.SIGKILL) //nolint:errcheck // it may have ended
	<-build.ended
	testwait.Until(v.t, "what the build ran has ended", func() bool {
		names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		return !slices.ContainsFunc(names, func(n string) bool {
			b, err := os.ReadFile(n)
			if err != nil || !bytes.Contains(b, []byte(v.dir)) && !bytes.Contains(b, []byte("terraform\x00apply")) {
				return false
			}
			cwd, err := os.Readlink(filepath.Join(filepath.Dir(n), "cwd"))
			return err == nil && strings.HasPrefix(cwd, v.dir)
		})
	})
}

// leftover returns the state that a killed build left in its work directory: found, but
// empty, if Terraform died while it wrote the file.
func (v *victim) leftover() (state []byte, found bool) {
	v.t.Helper()
	e, err := New(Config{CacheDir: filepath.Join(v.dir, "cache"), Provider: provider})
	if err != nil {
		v.t.Fatal(err)
	}
	err = e.Leftovers(func(_ string, s []byte) error {
		state, found = s, true
		return nil
	})
	if err != nil && strings.Contains(err.Error(), "incomplete") { // it stays for a day
		return nil, os.RemoveAll(filepath.Join(v.dir, "cache", "work")) == nil
	}
	if err != nil {
		v.t.Fatal(err)
	}
	return state, found
}

func taintedNames(state []byte) []string {
	var names []string
	for _, i := range graph.Tainted(state) {
		names = append(names, i.String())
	}
	slices.Sort(names)
	return names
}

// TestCutOffScript kills a build while one of its scripts runs and after
// another resource was done, which is when Terraform writes a state in which
// the first looks complete.
func TestCutOffScript(t *testing.T) {
	v := newVictim(t, head+`
resource "terraform_data" "slow" {
  provisioner "local-exec" { command = "echo begun >> DIR/begun; sleep 2; echo ${self.id} >> DIR/slow" }
}
resource "terraform_data" "quick" {
  provisioner "local-exec" { command = "while [ ! -e DIR/begun ]; do sleep 0.05; done; echo ${self.id} >> DIR/quick" }
}`)
	build := v.start(provisioner.WorkspaceTransition_START)
	testwait.Until(v.t, "a state is reported", func() bool { return bytes.Contains(v.read("told"), []byte(`"quick"`)) })
	told := v.read("told")
	v.kill(build)
	left, found := v.leftover()
	if !found {
		t.Fatal("the killed build left nothing")
	}
	for what, state := range map[string][]byte{"reported": told, "left": left} {
		if !bytes.Contains(state, []byte(`"slow"`)) {
			t.Fatalf("the state that was %s does not have the resource: this tests nothing\n%s", what, state)
		}
		if got := taintedNames(state); !slices.Equal(got, []string{"terraform_data.slow"}) {
			t.Errorf("of the state that was %s, tainted are %v", what, got)
		}
	}
	v.write("state", left)
	if err := <-v.start(provisioner.WorkspaceTransition_START).ended; err != nil {
		t.Fatalf("the next build: %v\n%s", err, v.read("log"))
	}
	if len(v.lines("slow")) != 1 || len(v.lines("quick")) != 1 || len(v.lines("begun")) != 2 {
		t.Errorf("scripts ran to their end: slow %v, quick %v; begun %v", v.lines("slow"), v.lines("quick"), v.lines("begun"))
	}
	if got := taintedNames(v.read("state")); len(got) != 0 {
		t.Errorf("tainted at last: %v", got)
	}
	if log := string(v.read("log")); !strings.Contains(log, "did not finish creating terraform_data.slow") {
		t.Errorf("the log does not say that a script runs again:\n%s", log)
	}
}

const scripts = head + `
resource "terraform_data" "part" {
  for_each         = { a = 0.1, b = 0.5, c = 0.9, d = 1.4 }
  input            = each.value
  triggers_replace = file("DIR/generation")
  provisioner "local-exec" { command = "sleep ${self.input}; echo ${self.id} >> DIR/created" }
  provisioner "local-exec" { command = "sleep 0.1; echo ${self.id} >> DIR/finished" }
  provisioner "local-exec" {
    when    = destroy
    command = "sleep 0.3; echo ${self.id} >> DIR/destroyed"
  }
}
resource "terraform_data" "after" {
  input = [for p in terraform_data.part : p.id]
  count = data.coder_workspace.me.start_count
  provisioner "local-exec" { command = "echo ${self.id} >> DIR/created; echo ${self.id} >> DIR/finished" }
  provisioner "local-exec" {
    when    = destroy
    command = "echo ${self.id} >> DIR/destroyed"
  }
}
`

// TestRandomKills kills the builds of workspaces at random times, continues
// from the state that was left or, as another provisioner would, from the one
// that was reported, and wants every script that a successful build depends on
// to have run to its end: those that create what the state has, and those that
// destroy what a build that was not killed during it had complete.
func TestRandomKills(t *testing.T) {
	needTerraform(t)
	for round := range *killRounds {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, scripts)
			for generation, transition := range []provisioner.WorkspaceTransition{
				provisioner.WorkspaceTransition_START, provisioner.WorkspaceTransition_START, provisioner.WorkspaceTransition_DESTROY,
			} {
				v.write("generation", fmt.Appendf(nil, "%d", generation))
				before := instanceIDs(t, v.read("state"))
				v.survive(transition, 3)
				after := instanceIDs(t, v.read("state"))
				for id, status := range after {
					if status == "tainted" || !slices.Contains(v.lines("created"), id) || !slices.Contains(v.lines("finished"), id) {
						t.Errorf("build %d succeeded with %s, whose scripts did not end (%q)", generation, id, status)
					}
				}
				for id := range before {
					if _, kept := after[id]; !kept && !slices.Contains(v.lines("destroyed"), id) {
						t.Errorf("build %d destroyed %s, whose script did not end", generation, id)
					}
				}
				if want := 5; transition == provisioner.WorkspaceTransition_START && len(after) != want || transition == provisioner.WorkspaceTransition_DESTROY && len(after) != 0 {
					t.Errorf("build %d ended with %d resources", generation, len(after))
				}
			}
		})
	}
}

// survive runs a build until it succeeds, and kills it up to so often.
func (v *victim) survive(transition provisioner.WorkspaceTransition, kills int) {
	v.t.Helper()
	for {
		build := v.start(transition)
		if kills--; kills < 0 {
			if err := <-build.ended; err != nil {
				v.t.Fatalf("%v\n%s", err, v.read("log"))
			}
			return
		}
		begun := time.After(time.Duration(rand.N(4000)) * time.Millisecond)
		select {
		case err := <-build.ended:
			if err != nil {
				v.t.Fatalf("%v\n%s", err, v.read("log"))
			}
			return
		case <-begun:
		}
		v.kill(build)
		told := v.read("told")
		left, found := v.leftover()
		switch {
		case !found:
		case told != nil && (len(left) == 0 || rand.N(2) == 0):
			v.write("state", told)
		case len(left) > 0: // the server ignores an empty one
			v.write("state", left)
		}
	}
}

// instanceIDs returns the ids of what a state has, with their status.
func instanceIDs(t *testing.T, state []byte) map[string]string {
	t.Helper()
	ids := map[string]string{}
	_, err := graph.EditInstances(state, func(_ graph.Address, fields map[string]json.RawMessage) bool {
		var attributes struct{ ID string }
		if err := json.Unmarshal(fields["attributes"], &attributes); err != nil {
			t.Fatal(err)
		}
		ids[attributes.ID] = strings.Trim(string(fields["status"]), `"`)
		return false
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}
