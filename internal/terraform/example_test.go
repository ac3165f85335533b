package terraform

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
)

// fakeAgent is what the test's server gives out as the agent: it tells how it
// was called and stays.
const fakeAgent = `#!/bin/sh
[ "$1" = version ] && exit 0
trap 'echo bye >>"$HOME/log"; exit 0' TERM
echo "$1 $CODER_AGENT_TOKEN ${CODER_SECRET:-clean} $$" >>"$HOME/log"
echo $$ >"$HOME/pid"
while :; do sleep 0.05; done
`

// TestLocalExample runs the starter template through the life of a workspace.
func TestLocalExample(t *testing.T) {
	t.Setenv("CODER_SECRET", "leaked")
	e := newEngine(t)
	source, err := archive.Pack("../../examples/templates/local", archive.Upload())
	if err != nil {
		t.Fatal(err)
	}
	var fetched atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fetched.Add(1)
		w.Write([]byte(fakeAgent))
	}))
	defer server.Close()
	t.Setenv("no_proxy", "*")
	base := t.TempDir()

	var state []byte
	var log string
	run := func(transition provisioner.WorkspaceTransition) *provisioner.GraphComplete {
		t.Helper()
		j := &job{t: t}
		s, err := e.Open(t.Context(), &provisioner.Config{}, func(l *provisioner.Log) { j.lines = append(j.lines, l) })
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		j.session = s.(*session)
		done := ok[*provisioner.InitComplete](t)(s.Init(t.Context(), &provisioner.InitRequest{TemplateSourceArchive: source}))
		if len(done.GetTimings()) != 0 {
			t.Error("the template needs terraform init, so it does not work offline")
		}
		m := metadata(transition)
		m.CoderUrl = server.URL
		defer func() { log = j.log() }()
		ok[*provisioner.PlanComplete](t)(s.Plan(t.Context(), &provisioner.PlanRequest{
			Metadata: m, State: state, VariableValues: []*provisioner.VariableValue{{Name: "base_directory", Value: base}},
		}))
		applied, err := s.Apply(t.Context(), &provisioner.ApplyRequest{Metadata: m})
		if err != nil || applied.GetError() != "" {
			t.Fatalf("%v %v\n%s", err, applied.GetError(), j.log())
		}
		state = applied.GetState()
		return ok[*provisioner.GraphComplete](t)(s.Graph(t.Context(), &provisioner.GraphRequest{Source: provisioner.GraphSource_SOURCE_STATE}))
	}
	home := filepath.Join(base, "ann-dev-6ba7b810", "home")
	pidFile := filepath.Join(home, "pid")

	graph := run(provisioner.WorkspaceTransition_START)
	var agent *provisioner.Agent
	for _, r := range graph.GetResources() {
		if r.GetName() == "process" && len(r.GetAgents()) == 1 {
			agent = r.GetAgents()[0]
		}
	}
	if agent == nil || len(agent.GetScripts()) != 1 || len(graph.GetParameters()) != 2 {
		t.Fatalf("got %v", graph)
	}
	await(t, func() bool { return pidOf(pidFile) > 0 })
	first := pidOf(pidFile)
	if !alive(first) {
		t.Fatal("the agent did not outlive the build")
	}
	if got, _ := os.ReadFile(filepath.Join(home, "log")); !strings.HasPrefix(string(got), "agent "+agent.GetToken()+" clean ") {
		t.Errorf("the agent was started as %q", got)
	}
	if !strings.Contains(log, "agent started as process") || strings.Contains(log, agent.GetToken()) {
		t.Errorf("got log\n%s", log)
	}

	// Applied twice: the old agent goes, one with the new token comes.
	if err := os.Remove(pidFile); err != nil {
		t.Fatal(err)
	}
	run(provisioner.WorkspaceTransition_START)
	await(t, func() bool { return pidOf(pidFile) > 0 && !alive(first) })
	second := pidOf(pidFile)

	if err := os.WriteFile(filepath.Join(home, "work"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	graph = run(provisioner.WorkspaceTransition_STOP)
	if alive(second) {
		t.Error("the agent is alive after a stop")
	}
	for _, r := range graph.GetResources() {
		if len(r.GetAgents()) != 0 {
			t.Errorf("a stopped workspace has agents: %v", r)
		}
	}
	if _, err := os.Stat(filepath.Join(home, "work")); err != nil {
		t.Error("a stop lost the user's work")
	}
	left, _ := filepath.Glob(filepath.Join(base, "*", "run", "bin", "*"))
	if len(left) != 0 {
		t.Errorf("downloaded agents pile up: %v", left)
	}

	if err := os.Remove(pidFile); err != nil {
		t.Fatal(err)
	}
	run(provisioner.WorkspaceTransition_START)
	await(t, func() bool { return pidOf(pidFile) > 0 })
	third := pidOf(pidFile)
	run(provisioner.WorkspaceTransition_DESTROY)
	if alive(third) {
		t.Error("the agent is alive after a delete")
	}
	if _, err := os.Stat(filepath.Dir(home)); err == nil {
		t.Error("the directory is there after a delete")
	}
	run(provisioner.WorkspaceTransition_DESTROY) // of nothing
}

// TestExamplesParse reads every starter template as an import does first.
func TestExamplesParse(t *testing.T) {
	for _, name := range []string{"local", "docker", "kubernetes"} {
		m, err := readModule("../../examples/templates/" + name)
		if err != nil {
			t.Fatal(err)
		}
		done := parseComplete(m)
		if done.GetError() != "" || len(done.GetReadme()) == 0 || len(done.GetTemplateVariables()) == 0 {
			t.Errorf("%s: %v", name, done)
		}
	}
}
