//go:build unix

package terraform

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/internal/archive"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// fakeAgent is what the test's server gives out as the agent: it tells how it
// was called and stays.
const fakeAgent = `#!/bin/sh
case "$1" in version | --version) exit 0 ;; esac
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
	testwait.Until(t, "a script runs", func() bool { return pidOf(pidFile) > 0 })
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
	testwait.Until(t, "another script runs, and the first has ended", func() bool { return pidOf(pidFile) > 0 && !alive(first) })
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
	testwait.Until(t, "a script runs", func() bool { return pidOf(pidFile) > 0 })
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

// TestHostileRepository returns the starter template values that are commands to
// a shell which reads them as part of a script, and runs that script.
func TestHostileRepository(t *testing.T) {
	e := newEngine(t)
	source, err := archive.Pack("../../examples/templates/local", archive.Upload())
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	coder := "#!/bin/sh\nprintf '%s\\n' \"$@\" >\"$HOME/arguments\"\n"
	if err := os.WriteFile(filepath.Join(bin, "coder"), []byte(coder), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{
		"https://example.com/a';touch${IFS}injected;'.git", "https://example.com/$(touch${IFS}injected).git", "/`touch${IFS}injected`",
		`ssh://example.com/a"$(touch${IFS}injected)"`, "git@example.com:a;touch${IFS}injected", `https://example.com/a\';touch${IFS}injected;#`,
		"https://example.com/-rf", "/a&touch${IFS}injected|b>c*?[d]", "https://example.com/${data.coder_workspace.me.id}",
	} {
		j := &job{t: t}
		s, err := e.Open(t.Context(), &provisioner.Config{}, func(l *provisioner.Log) { j.lines = append(j.lines, l) })
		if err != nil {
			t.Fatal(err)
		}
		ok[*provisioner.InitComplete](t)(s.Init(t.Context(), &provisioner.InitRequest{TemplateSourceArchive: source}))
		m := metadata(provisioner.WorkspaceTransition_START)
		ok[*provisioner.PlanComplete](t)(s.Plan(t.Context(), &provisioner.PlanRequest{
			Metadata: m, RichParameterValues: []*provisioner.RichParameterValue{{Name: "repository", Value: value}},
		}))
		graph := ok[*provisioner.GraphComplete](t)(s.Graph(t.Context(), &provisioner.GraphRequest{Metadata: m, Source: provisioner.GraphSource_SOURCE_PLAN}))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		var agent *provisioner.Agent
		for _, r := range graph.GetResources() {
			for _, a := range r.GetAgents() {
				agent = a
			}
		}
		if agent == nil || len(agent.GetScripts()) != 1 {
			t.Fatalf("got %v", graph)
		}
		home := t.TempDir()
		cmd := exec.Command("sh", "-c", agent.GetScripts()[0].GetScript())
		cmd.Dir, cmd.Env = home, []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + home, "CODER_WORKSPACE_NAME=dev", "CODER_WORKSPACE_OWNER_NAME=ann"}
		for k, v := range agent.GetEnv() {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%q: %v\n%s", value, err, out)
		}
		if _, err := os.Stat(filepath.Join(home, "injected")); err == nil {
			t.Errorf("the shell ran a part of %q", value)
		}
		if got, _ := os.ReadFile(filepath.Join(home, "arguments")); !strings.HasPrefix(string(got), "git\nclone\n--\n"+value+"\n"+home+"/") {
			t.Errorf("of %q coder got %q", value, got)
		}
	}
}

// TestStartersScripts wants no value that a user chooses in the text of
// anything that a shell runs.
func TestStartersScripts(t *testing.T) {
	starters, err := filepath.Glob("../../examples/*/*/main.tf") // of modules too
	if err != nil || len(starters) == 0 {
		t.Fatal(err)
	}
	scripts := []string{"script", "startup_script", "shutdown_script", "command", "args", "entrypoint", "inline", "user_data", "content"}
	seen := 0
	var walk func(file string, body *hclsyntax.Body)
	walk = func(file string, body *hclsyntax.Body) {
		for name, a := range body.Attributes {
			if !slices.Contains(scripts, name) {
				continue
			}
			seen++
			for _, v := range a.Expr.Variables() {
				text := v.RootName()
				if text == "data" && len(v) > 1 {
					text = v[1].(hcl.TraverseAttr).Name
				}
				if slices.Contains([]string{"var", "local", "coder_parameter", "coder_workspace", "coder_workspace_owner", "coder_external_auth"}, text) {
					t.Errorf("%s:%d: %s has a value of %s in its text; pass it in the environment", file, a.Range().Start.Line, name, text)
				}
			}
		}
		for _, b := range body.Blocks {
			walk(file, b.Body)
		}
	}
	for _, name := range starters {
		file, diags := hclparse.NewParser().ParseHCLFile(name)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		walk(name, file.Body.(*hclsyntax.Body))
	}
	if seen < 5 {
		t.Errorf("only %d scripts were found", seen)
	}
}

// TestExamplesParse reads every starter template as an import does first.
func TestExamplesParse(t *testing.T) {
	starters, err := filepath.Glob("../../examples/templates/*/main.tf")
	if err != nil || len(starters) < 10 {
		t.Fatal(starters, err)
	}
	for _, main := range starters {
		name := filepath.Base(filepath.Dir(main))
		m, err := readModule(filepath.Dir(main))
		if err != nil {
			t.Fatal(err)
		}
		done := parseComplete(m)
		if done.GetError() != "" || len(done.GetReadme()) == 0 {
			t.Errorf("%s: %v", name, done)
		}
	}
}
