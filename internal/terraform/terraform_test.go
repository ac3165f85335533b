package terraform

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/tfprovider"
)

// provider is a program that serves the provider, see tfprovider/program; "" is the test binary.
var provider = os.Getenv("CODER_TEST_PROVIDER")

// TestMain lets the test binary be the provider, as the real program is.
func TestMain(m *testing.M) {
	if tfprovider.Requested(os.Args, os.Getenv) {
		os.Exit(tfprovider.Serve(os.Args[1:]))
	}
	if dir := os.Getenv(childVariable); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(runTests(m))
}

// runTests runs the tests with a directory of their own for temporary files: plug-ins that
// a test kills leave their sockets.
func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "tf")
	if err == nil {
		err = os.Setenv("TMPDIR", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	return m.Run()
}

// needTerraform skips a test, saying so, where no Terraform is installed.
func needTerraform(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("terraform")
	if err != nil {
		t.Skip("terraform is not on PATH: this test of the real thing does not run")
	}
	return path
}

type job struct {
	*session
	t     testing.TB
	lines []*provisioner.Log
}

func newEngine(t testing.TB) *Engine {
	t.Helper()
	needTerraform(t)
	// A home of its own: no test depends on the machine's Terraform settings.
	t.Setenv("TF_CLI_CONFIG_FILE", "/nonexistent")
	e, err := New(Config{CacheDir: t.TempDir(), Grace: 2 * time.Second, Provider: provider})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// open starts a job with the given files as template.
func open(t testing.TB, e *Engine, files map[string]string) (*job, *provisioner.InitComplete) {
	t.Helper()
	j := &job{t: t}
	s, err := e.Open(t.Context(), &provisioner.Config{}, func(l *provisioner.Log) { j.lines = append(j.lines, l) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	j.session = s.(*session)
	done, err := s.Init(t.Context(), &provisioner.InitRequest{TemplateSourceArchive: pack(t, files)})
	if err != nil {
		t.Fatal(err)
	}
	return j, done
}

func pack(t testing.TB, files map[string]string) []byte {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, content := range files {
		if i := strings.LastIndex(name, "/"); i >= 0 {
			if err := root.MkdirAll(name[:i], 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := root.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := archive.Pack(dir, archive.Upload())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ok[T interface{ GetError() string }](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if v.GetError() != "" {
			t.Fatal(v.GetError())
		}
		return v
	}
}

func (j *job) log() string {
	var b bytes.Buffer
	for _, l := range j.lines {
		fmt.Fprintf(&b, "%s %s\n", l.GetLevel(), l.GetOutput())
	}
	return b.String()
}

// build is one transition of one workspace.
func (j *job) build(transition provisioner.WorkspaceTransition, state []byte, parameters ...string) (*provisioner.ApplyComplete, *provisioner.GraphComplete) {
	j.t.Helper()
	m := metadata(transition)
	req := &provisioner.PlanRequest{Metadata: m, State: state}
	for i := 0; i+1 < len(parameters); i += 2 {
		req.RichParameterValues = append(req.RichParameterValues, &provisioner.RichParameterValue{Name: parameters[i], Value: parameters[i+1]})
	}
	ok[*provisioner.PlanComplete](j.t)(j.Plan(j.t.Context(), req))
	applied := ok[*provisioner.ApplyComplete](j.t)(j.Apply(j.t.Context(), &provisioner.ApplyRequest{Metadata: m}))
	graph := ok[*provisioner.GraphComplete](j.t)(j.Graph(j.t.Context(), &provisioner.GraphRequest{Metadata: m, Source: provisioner.GraphSource_SOURCE_STATE}))
	return applied, graph
}

func metadata(transition provisioner.WorkspaceTransition) *provisioner.Metadata {
	return &provisioner.Metadata{
		CoderUrl: "http://127.0.0.1:3000", WorkspaceTransition: transition, WorkspaceName: "dev", WorkspaceOwner: "ann",
		WorkspaceId: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", WorkspaceOwnerId: "6ba7b811-9dad-11d1-80b4-00c04fd430c8",
		WorkspaceOwnerEmail: "ann@example.com", TemplateId: "6ba7b812-9dad-11d1-80b4-00c04fd430c8", TemplateName: "t",
		TemplateVersion: "v1", WorkspaceBuildId: "6ba7b814-9dad-11d1-80b4-00c04fd430c8",
	}
}

const head = `
terraform {
  required_providers {
    coder = { source = "coder/coder", version = ">= 2.0" }
  }
}
data "coder_workspace" "me" {}
data "coder_workspace_owner" "me" {}
`

const simple = head + `
data "coder_parameter" "size" {
  name    = "Size of it"
  type    = "number"
  default = "3"
  mutable = true
  validation {
    min = 1
    max = 10
  }
}
resource "coder_agent" "main" {
  os             = "linux"
  arch           = "amd64"
  startup_script = "echo hi"
  env            = { OWNER = data.coder_workspace_owner.me.name }
}
resource "coder_app" "web" {
  agent_id = coder_agent.main.id
  slug     = "web"
  url      = "http://localhost:80"
}
resource "terraform_data" "dev" {
  count = data.coder_workspace.me.start_count
  input = [coder_agent.main.token, data.coder_parameter.size.value]
  provisioner "local-exec" {
    command = "echo building; env | grep -c CODER_SECRET || true"
  }
}
`

func TestBuild(t *testing.T) {
	t.Setenv("CODER_SECRET_OF_THE_DAEMON", "x")
	e := newEngine(t)
	j, init := open(t, e, map[string]string{"main.tf": simple})
	if init.GetError() != "" || len(init.GetTimings()) != 0 {
		t.Fatalf("a template that needs no init ran it: %v", init)
	}
	applied, graph := j.build(provisioner.WorkspaceTransition_START, nil, "Size of it", "7")
	if len(graph.GetResources()) != 1 || len(graph.GetResources()[0].GetAgents()) != 1 {
		t.Fatalf("got %v", graph)
	}
	a := graph.GetResources()[0].GetAgents()[0]
	if a.GetName() != "main" || a.GetToken() == "" || a.GetEnv()["OWNER"] != "ann" || len(a.GetApps()) != 1 || len(a.GetScripts()) != 1 {
		t.Errorf("got agent %v", a)
	}
	if p := graph.GetParameters(); len(p) != 1 || p[0].GetName() != "Size of it" || p[0].GetValidationMax() != 10 || p[0].GetDefaultValue() != "3" {
		t.Errorf("got parameters %v", p)
	}
	if !bytes.Contains(applied.GetState(), []byte(`"7"`)) {
		t.Error("the parameter's value did not reach the provider")
	}
	if !strings.Contains(j.log(), "building") || !strings.Contains(j.log(), "(local-exec): 0") {
		t.Errorf("the daemon's secrets are in the environment, or the output is not logged:\n%s", j.log())
	}
	if !slices.ContainsFunc(applied.GetTimings(), func(tm *provisioner.Timing) bool {
		return tm.GetResource() == "terraform_data.dev[0]" && tm.GetAction() == "create" && tm.GetState() == provisioner.TimingState_COMPLETED
	}) {
		t.Errorf("got timings %v", applied.GetTimings())
	}

	j, _ = open(t, e, map[string]string{"main.tf": simple})
	applied, graph = j.build(provisioner.WorkspaceTransition_STOP, applied.GetState(), "Size of it", "7")
	if len(graph.GetResources()) != 0 {
		t.Errorf("a stopped workspace has %v", graph.GetResources())
	}
	j, _ = open(t, e, map[string]string{"main.tf": simple})
	applied, graph = j.build(provisioner.WorkspaceTransition_DESTROY, applied.GetState(), "Size of it", "7")
	if len(graph.GetResources()) != 0 || bytes.Contains(applied.GetState(), []byte("coder_agent")) {
		t.Errorf("left after destroy: %s", applied.GetState())
	}
}

func TestImport(t *testing.T) {
	e := newEngine(t)
	j, _ := open(t, e, map[string]string{"main.tf": simple, "README.md": "# Hi"})
	parsed := ok[*provisioner.ParseComplete](t)(j.Parse(t.Context(), &provisioner.ParseRequest{}))
	if string(parsed.GetReadme()) != "# Hi" {
		t.Errorf("got %v", parsed)
	}
	for _, transition := range []provisioner.WorkspaceTransition{provisioner.WorkspaceTransition_START, provisioner.WorkspaceTransition_STOP} {
		m := &provisioner.Metadata{CoderUrl: "http://127.0.0.1:3000", WorkspaceTransition: transition}
		planned := ok[*provisioner.PlanComplete](t)(j.Plan(t.Context(), &provisioner.PlanRequest{Metadata: m}))
		if len(planned.GetPlan()) == 0 {
			t.Error("an import gives no plan")
		}
		graph := ok[*provisioner.GraphComplete](t)(j.Graph(t.Context(), &provisioner.GraphRequest{Metadata: m, Source: provisioner.GraphSource_SOURCE_PLAN}))
		want := 1
		if transition == provisioner.WorkspaceTransition_STOP {
			want = 0
		}
		if len(graph.GetResources()) != want || len(graph.GetParameters()) != 1 {
			t.Errorf("%v: got %v", transition, graph)
		}
		if want == 1 && (len(graph.GetResources()[0].GetAgents()) != 1 || len(graph.GetResources()[0].GetAgents()[0].GetApps()) != 1) {
			t.Errorf("got %v", graph.GetResources())
		}
	}
}
