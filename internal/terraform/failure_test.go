//go:build unix

package terraform

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

func TestBadTemplates(t *testing.T) {
	e := newEngine(t)
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1") // no registry answers
	for name, c := range map[string]struct {
		files map[string]string
		want  []string // parts of the error
	}{
		"syntax": {
			map[string]string{"main.tf": "resource \"coder_agent\" \"main\" {\n  os = \n}\n"},
			[]string{"main.tf:2:", "Invalid expression"},
		},
		"syntax of JSON": {map[string]string{"main.tf.json": "{\n\"resource\": [}\n}"}, []string{"main.tf.json:2:"}},
		"nothing":        {map[string]string{"readme.txt": "hi"}, []string{"no .tf file"}},
		"unknown provider, offline": {
			map[string]string{"main.tf": head + `resource "fruit_apple" "a" {}`},
			[]string{"terraform init", "hashicorp/fruit"},
		},
		"missing module": {
			map[string]string{"main.tf": head + "module \"m\" {\n  source = \"./nowhere\"\n}\n"},
			[]string{"terraform init", "nowhere"},
		},
		"missing argument": {
			map[string]string{"main.tf": head + "resource \"coder_agent\" \"main\" {\n  os = \"linux\"\n}\n"},
			[]string{"terraform plan", "main.tf:9:", "Missing required argument", `"arch"`},
		},
		"wrong value": {
			map[string]string{"main.tf": head + "resource \"coder_agent\" \"main\" {\n  os = \"linux\"\n  arch = \"z80\"\n}\n"},
			[]string{"main.tf:11:", `expected arch to be one of`},
		},
		"missing variable": {
			map[string]string{"main.tf": head + "variable \"region\" {}\n"},
			[]string{"terraform plan", "main.tf:9:", `No value for required variable`, `"region"`},
		},
		"wrong type of variable": {
			map[string]string{"main.tf": head + "variable \"zones\" {\n  type = list(string)\n  default = []\n}\n"},
			[]string{`variable "zones"`, "list(string)"},
		},
		"cycle": {
			map[string]string{"main.tf": head + "resource \"terraform_data\" \"a\" {\n  input = terraform_data.b.id\n}\nresource \"terraform_data\" \"b\" {\n  input = terraform_data.a.id\n}\n"},
			[]string{"terraform plan", "Cycle", "terraform_data.a"},
		},
		"parameter out of range": {
			map[string]string{"main.tf": simple},
			[]string{"terraform plan", "main.tf:10:", "11"},
		},
		"unknown version of terraform": {
			map[string]string{"main.tf": "terraform {\n  required_version = \">= 99\"\n}\n" + head},
			[]string{"Unsupported Terraform Core version"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			j, done := open(t, e, c.files)
			got := done.GetError()
			if got == "" {
				planned, err := j.Plan(t.Context(), &provisioner.PlanRequest{
					Metadata:            metadata(provisioner.WorkspaceTransition_START),
					RichParameterValues: []*provisioner.RichParameterValue{{Name: "Size of it", Value: "11"}},
					VariableValues:      []*provisioner.VariableValue{{Name: "zones", Value: "{{"}},
				})
				if err != nil {
					t.Fatal(err)
				}
				got = planned.GetError()
			}
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("the error lacks %q:\n%s", want, got)
				}
			}
			t.Log(got)
		})
	}
}

func TestBadArchive(t *testing.T) {
	e := newEngine(t)
	s, err := e.Open(t.Context(), &provisioner.Config{}, func(*provisioner.Log) {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	done, err := s.Init(t.Context(), &provisioner.InitRequest{TemplateSourceArchive: []byte("no tar at all, " + strings.Repeat("x", 1000))})
	if err != nil || done.GetError() == "" {
		t.Errorf("got %v, %v", done, err)
	}
}

// TestStateOfFailure wants the state of what was made before the failure.
func TestStateOfFailure(t *testing.T) {
	e := newEngine(t)
	j, _ := open(t, e, map[string]string{"main.tf": head + `
resource "terraform_data" "good" { input = "made" }
resource "terraform_data" "bad" {
  input = terraform_data.good.id
  provisioner "local-exec" { command = "echo this went wrong >&2; exit 3" }
}`})
	m := metadata(provisioner.WorkspaceTransition_START)
	ok[*provisioner.PlanComplete](t)(j.Plan(t.Context(), &provisioner.PlanRequest{Metadata: m}))
	done, err := j.Apply(t.Context(), &provisioner.ApplyRequest{Metadata: m})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(done.GetError(), "local-exec provisioner error") || !strings.Contains(done.GetError(), "this went wrong") {
		t.Errorf("got error %q", done.GetError())
	}
	if !bytes.Contains(done.GetState(), []byte(`"made"`)) {
		t.Errorf("got state %s", done.GetState())
	}
	failed := false
	for _, tm := range done.GetTimings() {
		failed = failed || tm.GetResource() == "terraform_data.bad" && tm.GetState() == provisioner.TimingState_FAILED
	}
	if !failed {
		t.Errorf("got timings %v", done.GetTimings())
	}

	// A plan that fails gives back what it was given, through Apply of nobody:
	// the file is there for the next request.
	done2, err := j.Graph(t.Context(), &provisioner.GraphRequest{Source: provisioner.GraphSource_SOURCE_STATE})
	if err != nil || done2.GetError() != "" || len(done2.GetResources()) == 0 {
		t.Errorf("graph of the rest: %v, %v", done2, err)
	}
}

const slow = head + `
resource "terraform_data" "first" { input = "first" }
resource "terraform_data" "slow" {
  input = terraform_data.first.id
  provisioner "local-exec" { command = "%s" }
}`

// TestCancel interrupts an apply that waits for a child. Nothing is killed.
func TestCancel(t *testing.T) {
	e := newEngine(t)
	e.config.Grace = time.Hour
	dir := t.TempDir()
	pidFile := filepath.Join(dir, "pid")
	j, _ := open(t, e, map[string]string{"main.tf": fmt.Sprintf(slow, "echo $$ > "+pidFile+"; sleep 600")})
	done := cancelApply(t, j, pidFile)
	if !strings.Contains(done.GetError(), "canceled") || !bytes.Contains(done.GetState(), []byte(`"first"`)) {
		t.Errorf("got %q with state %s", done.GetError(), done.GetState())
	}
	gone(t, pidFile)
}

// TestKill ends a child that ignores being interrupted, and its own children.
func TestKill(t *testing.T) {
	e := newEngine(t)
	dir := t.TempDir()
	pidFile, childFile := filepath.Join(dir, "pid"), filepath.Join(dir, "child")
	j, _ := open(t, e, map[string]string{"main.tf": fmt.Sprintf(slow,
		"trap '' INT TERM; (trap '' INT TERM; sh -c 'echo $$ > "+childFile+"; while :; do sleep 1; done') & echo $$ > "+pidFile+"; while :; do sleep 1; done")})
	done := cancelApply(t, j, pidFile, childFile)
	if !strings.Contains(done.GetError(), "canceled") || !bytes.Contains(done.GetState(), []byte(`"first"`)) {
		t.Errorf("got %q with state %s", done.GetError(), done.GetState())
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	gone(t, pidFile)
	gone(t, childFile)
}

// cancelApply starts an apply, waits for the files that its children write,
// and cancels.
func cancelApply(t *testing.T, j *job, files ...string) *provisioner.ApplyComplete {
	t.Helper()
	m := metadata(provisioner.WorkspaceTransition_START)
	ok[*provisioner.PlanComplete](t)(j.Plan(t.Context(), &provisioner.PlanRequest{Metadata: m}))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waited := make(chan struct{})
	go func() {
		defer close(waited)
		defer cancel()
		for _, f := range files {
			testwait.Until(t, "a script runs", func() bool { return pidOf(f) > 0 })
		}
	}()
	done, err := j.Apply(ctx, &provisioner.ApplyRequest{Metadata: m})
	if err != nil {
		t.Fatal(err)
	}
	<-waited
	return done
}

func pidOf(file string) int {
	b, _ := os.ReadFile(file)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return pid
}

func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func gone(t *testing.T, pidFile string) {
	t.Helper()
	pid := pidOf(pidFile)
	if pid == 0 {
		t.Errorf("%s was never written", pidFile)
		return
	}
	testwait.Until(t, "the script has ended", func() bool { return !alive(pid) })
}

// TestDeathOfDaemon kills a process that runs an apply, as kill -9 of a daemon
// does, and wants nothing of the build left.
func TestDeathOfDaemon(t *testing.T) {
	if dir := os.Getenv("TEST_DAEMON_DIR"); dir != "" {
		daemon(t, dir)
		return
	}
	needTerraform(t)
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestDeathOfDaemon$")
	cmd.Env = append(os.Environ(), "TEST_DAEMON_DIR="+dir)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pidFile := filepath.Join(dir, "pid")
	testwait.Until(t, "a script runs", func() bool { return pidOf(pidFile) > 0 })
	terraforms := children(cmd.Process.Pid)
	if len(terraforms) < 2 {
		t.Errorf("the daemon has the children %v, want the provider and terraform\n%s", terraforms, &out)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	gone(t, pidFile)
	for _, pid := range terraforms {
		testwait.Until(t, "the script has ended", func() bool { return !alive(pid) })
	}

	// The next daemon clears what the dead one left, once it is old enough to
	// be no job that is just starting.
	work := filepath.Join(dir, "cache", "work")
	left, _ := filepath.Glob(filepath.Join(work, "job-*"))
	if len(left) != 1 {
		t.Fatalf("got %v", left)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(left[0], old, old); err != nil {
		t.Fatal(err)
	}
	e, err := New(Config{CacheDir: filepath.Join(dir, "cache"), Provider: provider})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.Open(t.Context(), &provisioner.Config{}, func(*provisioner.Log) {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := os.Stat(left[0]); err == nil {
		t.Error("the work directory of the dead daemon is still there")
	}
}

func daemon(t *testing.T, dir string) {
	e, err := New(Config{CacheDir: filepath.Join(dir, "cache"), Provider: provider})
	if err != nil {
		t.Fatal(err)
	}
	j, _ := open(t, e, map[string]string{"main.tf": fmt.Sprintf(slow, "trap '' INT TERM HUP; echo $$ > "+filepath.Join(dir, "pid")+"; while :; do sleep 1; done")})
	m := metadata(provisioner.WorkspaceTransition_START)
	ok[*provisioner.PlanComplete](t)(j.Plan(t.Context(), &provisioner.PlanRequest{Metadata: m}))
	_, _ = j.Apply(t.Context(), &provisioner.ApplyRequest{Metadata: m})
}

func children(pid int) []int {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	var all []int
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		more, _ := os.ReadFile(task)
		b = append(append(b, ' '), more...)
	}
	for _, f := range strings.Fields(string(b)) {
		if n, err := strconv.Atoi(f); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// TestValues passes values that an environment cannot hold, or hardly.
func TestValues(t *testing.T) {
	e := newEngine(t)
	template := head + `
data "coder_parameter" "p" {
  name    = "p"
  mutable = true
  default = "d"
}
resource "terraform_data" "x" { input = sha256(data.coder_parameter.p.value) }`
	long := strings.Repeat("long ", 60<<10)
	for name, c := range map[string]struct{ value, want string }{
		"longer than the kernel's limit": {long, ""},
		"several lines":                  {"a\nb=\"c\"\n${d}\n", ""},
		"NUL":                            {"a\x00b", "cannot be set"},
	} {
		t.Run(name, func(t *testing.T) {
			j, _ := open(t, e, map[string]string{"main.tf": template})
			m := metadata(provisioner.WorkspaceTransition_START)
			planned, err := j.Plan(t.Context(), &provisioner.PlanRequest{Metadata: m, RichParameterValues: []*provisioner.RichParameterValue{{Name: "p", Value: c.value}}})
			if err != nil {
				t.Fatal(err)
			}
			if c.want != "" {
				if !strings.Contains(planned.GetError(), c.want) {
					t.Errorf("got %q", planned.GetError())
				}
				return
			}
			if planned.GetError() != "" {
				t.Fatal(planned.GetError())
			}
			done := ok[*provisioner.ApplyComplete](t)(j.Apply(t.Context(), &provisioner.ApplyRequest{Metadata: m}))
			if !bytes.Contains(done.GetState(), fmt.Appendf(nil, "%x", sha256.Sum256([]byte(c.value)))) {
				t.Error("the value did not arrive whole")
			}
		})
	}
}

// TestOrder refuses steps out of order as a fault of the caller.
func TestOrder(t *testing.T) {
	e := newEngine(t)
	s, err := e.Open(t.Context(), &provisioner.Config{}, func(*provisioner.Log) {})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Parse(t.Context(), &provisioner.ParseRequest{}); err == nil {
		t.Error("Parse before Init")
	}
	if _, err := s.Plan(t.Context(), &provisioner.PlanRequest{}); err == nil {
		t.Error("Plan before Init")
	}
	if _, err := s.Apply(t.Context(), &provisioner.ApplyRequest{}); err == nil {
		t.Error("Apply before Plan")
	}
	if _, err := s.Graph(t.Context(), &provisioner.GraphRequest{}); err == nil {
		t.Error("Graph before Init")
	}
}
