package agent_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/agentapi"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// box is a workspace on a machine with Docker.
type box struct {
	*testing.T
	*agenttest.Fixture
	*agenttest.Docker
	agenttest.Agent
	http *http.Client
}

const plainConfig = `{"image": "x"}`

// newBox makes one with an agent; declared are the dev containers of its template,
// folder by name.
func newBox(t *testing.T, d *agenttest.Docker, declared map[string]string, change ...func(*agent.Config)) *box {
	t.Helper()
	b := &box{T: t, Fixture: agenttest.New(t), Docker: d}
	u, _ := b.Serve("")
	b.Agent = b.Workspace("ws", func(p *provisioner.Agent) {
		for name, folder := range declared {
			p.Devcontainers = append(p.Devcontainers, &provisioner.Devcontainer{Name: name, WorkspaceFolder: folder})
		}
	})
	if change == nil {
		change = append(change, func(*agent.Config) {})
	}
	process(t, u, b.Token, func(c *agent.Config) {
		c.Env = append(c.Env, d.Env()...)
		c.Devcontainers = true
		change[0](c)
	})
	reaches(t, b.Fixture, b.ID, codersdk.WorkspaceAgentLifecycleReady)
	b.reach()
	return b
}

// reach makes ready to ask the agent what the server asks.
func (b *box) reach() {
	b.Helper()
	row, err := b.Presence.AgentForUser(b.Context(), b.Fixture.Owner, b.ID, codersdk.RBACActionSSH)
	if err != nil {
		b.Fatal(err)
	}
	testwait.Until(b.T, "its link to the relay is up", func() bool { return b.Board.Holds(b.ID) })
	b.http = agentapi.New(agentapi.Config{Presence: b.Presence, Board: b.Board, Authority: b.Authority}).AgentHTTP(row)
	b.http.Timeout = testwait.Limit
}

// ask makes a request to the agent's API.
func (b *box) ask(method, path string, out any) (int, string) {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), method, "http://agent/api/v0/containers"+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	var resp *http.Response
	testwait.Until(b.T, "the agent answers", func() bool { // on a busy machine its connection may be lost for a moment
		resp, err = b.http.Do(req)
		if err != nil && !codersdk.Is(err, codersdk.CodeUnavailable) {
			b.Fatal(err)
		}
		return err == nil
	})
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	if out != nil {
		if err := json.Unmarshal(body, out); err != nil {
			b.Fatalf("%v: %s", err, body)
		}
	}
	return resp.StatusCode, string(body)
}

// one returns the dev container of that name, and waits until it is as wanted.
func (b *box) one(name, what string, ok func(codersdk.WorkspaceAgentDevcontainer) bool) (d codersdk.WorkspaceAgentDevcontainer) {
	b.Helper()
	var last string
	defer func() {
		if b.Failed() {
			b.Logf("the last answer: %s", last)
		}
	}()
	testwait.Until(b.T, name+" "+what, func() bool {
		var all codersdk.WorkspaceAgentListContainersResponse
		_, last = b.ask("GET", "", &all)
		for _, d = range all.Devcontainers {
			if d.Name == name {
				return ok(d)
			}
		}
		d = codersdk.WorkspaceAgentDevcontainer{}
		return ok(d)
	})
	return d
}

func held(d codersdk.WorkspaceAgentDevcontainer) bool {
	return d.Status == codersdk.WorkspaceAgentDevcontainerStatusRunning && d.Agent != nil
}

// children returns the agents below the workspace's.
func (b *box) children() []codersdk.WorkspaceAgent {
	b.Helper()
	all, err := b.Presence.SubAgents(b.Context(), must(b.Presence.AuthenticateAgent(b.Context(), b.Token)))
	if err != nil {
		b.Fatal(err)
	}
	out := []codersdk.WorkspaceAgent{}
	for _, a := range all {
		v, err := b.Presence.View(b.Context(), b.Fixture.Owner, a.ID)
		if err == nil { // it may just have gone
			out = append(out, v)
		} else if !codersdk.Is(err, codersdk.CodeNotFound) {
			b.Fatal(err)
		}
	}
	return out
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A dev container that the template declares comes up, with an agent in it that is
// entered like any other, and has the apps that its configuration wants.
func TestDevcontainer(t *testing.T) {
	t.Parallel()
	d := agenttest.NewDocker(t)
	folder := d.Folder("My App", `{"remoteUser": "vscode", "remoteEnv": {"COLOUR": "green"}, "customizations": {"coder": {
		"displayApps": {"vscode": false},
		"apps": [{"slug": "web", "displayName": "The app", "url": "http://localhost:3000", "share": "public", "order": 2, "healthCheck": {"url": "http://localhost:3000/up", "interval": 5, "threshold": 2}},
			{"slug": "docs", "url": "http://localhost:4000", "order": 1}, {"slug": "Not a slug", "url": "x"}]}}}`)
	b := newBox(t, d, map[string]string{"app": folder})
	dc := b.one("app", "runs", held)
	if dc.Agent.Name != "my-app" || dc.Agent.Directory != "/workspaces/My App" || *dc.SubagentID != dc.Agent.ID || dc.Container == nil || !dc.Container.Running || dc.Dirty {
		t.Errorf("%+v %+v", dc, dc.Agent)
	}
	children := b.children()
	if len(children) != 1 {
		t.Fatalf("%d agents below it", len(children))
	}
	a := children[0]
	if *a.ParentID != b.ID || a.Name != "my-app" || a.OperatingSystem != "linux" || len(a.Apps) != 2 || a.Apps[0].Slug != "docs" ||
		a.Apps[1].SharingLevel != codersdk.WorkspaceAppSharingLevelOwner || // as the template has ports
		a.Apps[1].Health == codersdk.WorkspaceAppHealthDisabled || len(a.DisplayApps) != 3 {
		t.Errorf("%+v", a)
	}
	reaches(t, b.Fixture, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	testwait.Until(t, "its link to the relay is up", func() bool { return b.Board.Holds(a.ID) })
	c, _ := shell(t, b.Fixture, agenttest.Agent{ID: a.ID, WorkspaceID: b.WorkspaceID})
	if out := output(t, c, "echo $CONTAINER_USER $COLOUR $CODER_WORKSPACE_AGENT_NAME"); strings.TrimSpace(out) != "vscode green my-app" {
		t.Errorf("in the container: %q", out)
	}
	logs := ""
	testwait.Until(t, "the log tells of it", func() bool {
		lines := must(b.Presence.Logs(t.Context(), b.Fixture.Owner, b.ID, 0, 0))
		logs = ""
		for _, l := range lines {
			logs += l.Output + "\n"
		}
		return strings.Contains(logs, "Building the image of My App") && strings.Contains(logs, "Agent my-app is running")
	})
	if !strings.Contains(logs, `"Not a slug"`) {
		t.Errorf("nothing is said of the app that is left out: %s", logs)
	}
	testwait.Until(t, "the log has a name", func() bool {
		for _, src := range view(t, b.Fixture, b.ID).LogSources {
			if src.DisplayName == "Dev Container: app" {
				return true
			}
		}
		return false
	})
}

// An agent goes when its container does, by hand or by request, and comes back.
func TestDevcontainerGoes(t *testing.T) {
	t.Parallel()
	d := agenttest.NewDocker(t)
	b := newBox(t, d, map[string]string{"app": d.Folder("app", plainConfig)})
	first := b.one("app", "runs", held)
	d.Stop(first.Container.ID)
	b.one("app", "is stopped", func(dc codersdk.WorkspaceAgentDevcontainer) bool {
		return dc.Status == codersdk.WorkspaceAgentDevcontainerStatusStopped && dc.Agent == nil
	})
	testwait.Until(t, "its agent is gone", func() bool { return len(b.children()) == 0 })
	path := "/devcontainers/" + first.ID.String()
	if status, body := b.ask("POST", path+"/recreate", nil); status != http.StatusAccepted {
		t.Fatalf("%d %s", status, body)
	}
	second := b.one("app", "runs again", held)
	if second.Container.ID == first.Container.ID || len(b.children()) != 1 {
		t.Errorf("%+v", second)
	}
	d.Remove(second.Container.ID)
	testwait.Until(t, "its agent is gone", func() bool { return len(b.children()) == 0 })
	b.ask("POST", path+"/recreate", nil)
	b.one("app", "runs again", held)
	if status, body := b.ask("DELETE", path, nil); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, body)
	}
	if dc := b.one("app", "is stopped", func(dc codersdk.WorkspaceAgentDevcontainer) bool {
		return dc.Status == codersdk.WorkspaceAgentDevcontainerStatusStopped
	}); dc.Container != nil || len(d.Containers()) != 0 || len(b.children()) != 0 {
		t.Errorf("%+v", dc)
	}
	if status, _ := b.ask("DELETE", "/devcontainers/"+uuid.NewString(), nil); status != http.StatusNotFound {
		t.Errorf("one that is not there: %d", status)
	}
}

// While one is under way nothing else begins.
func TestDevcontainerRecreatedTwice(t *testing.T) {
	t.Parallel()
	d := agenttest.NewDocker(t)
	go1 := filepath.Join(t.TempDir(), "go")
	b := newBox(t, d, map[string]string{"app": d.Folder("app", `{"Slow": "`+go1+`"}`)})
	dc := b.one("app", "starts", func(dc codersdk.WorkspaceAgentDevcontainer) bool {
		return dc.Status == codersdk.WorkspaceAgentDevcontainerStatusStarting
	})
	for _, try := range [][2]string{{"POST", "/recreate"}, {"DELETE", ""}} {
		if status, body := b.ask(try[0], "/devcontainers/"+dc.ID.String()+try[1], nil); status != http.StatusConflict || !strings.Contains(body, "is starting") {
			t.Errorf("%v: %d %s", try, status, body)
		}
	}
	if err := os.WriteFile(go1, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.one("app", "runs", held)
	if n := len(b.children()); n != 1 || len(d.Containers()) != 1 {
		t.Errorf("%d agents in %d containers", n, len(d.Containers()))
	}
}

// What is wrong is said, and can be put right.
func TestDevcontainerThatFails(t *testing.T) {
	t.Parallel()
	d := agenttest.NewDocker(t)
	b := newBox(t, d, map[string]string{
		"broken": d.Folder("broken", `{`), "fails": d.Folder("fails", `{"Fail": "no such base image"}`), "absent": filepath.Join(d.Dir, "absent"),
		"none": d.Dir, "hook": d.Folder("hook", `{"Hook": "postCreateCommand failed"}`),
	})
	for name, want := range map[string]string{
		"broken": "must contain a JSON object", "fails": "no such base image", "absent": "does not exist", "none": "no devcontainer.json in",
	} {
		dc := b.one(name, "fails", func(dc codersdk.WorkspaceAgentDevcontainer) bool {
			return dc.Status == codersdk.WorkspaceAgentDevcontainerStatusError
		})
		if !strings.Contains(dc.Error, want) {
			t.Errorf("%s: %q", name, dc.Error)
		}
	}
	hook := b.one("hook", "runs all the same", held)
	if !strings.Contains(hook.Error, "postCreateCommand failed") {
		t.Errorf("%+v", hook)
	}
	// An agent that is killed, and the next one, do not hide why the hook failed.
	pid := func() int {
		file, _ := os.ReadFile(filepath.Join(d.Dir, "containers", hook.Container.ID, "pid"))
		n, _ := strconv.Atoi(string(file))
		return n
	}
	testwait.Until(t, "the agent runs", func() bool { return pid() > 1 })
	first := pid()
	must(0, syscall.Kill(first, syscall.SIGKILL))
	testwait.Until(t, "the next agent runs", func() bool { return pid() > 1 && pid() != first })
	b.one("hook", "reports its error", func(dc codersdk.WorkspaceAgentDevcontainer) bool {
		return strings.Contains(dc.Error, "postCreateCommand failed") && !strings.Contains(dc.Error, "exited")
	})
	d.Folder("fails", plainConfig)
	dc := b.one("fails", "fails", func(codersdk.WorkspaceAgentDevcontainer) bool { return true })
	b.ask("POST", "/devcontainers/"+dc.ID.String()+"/recreate", nil)
	b.one("fails", "runs", func(dc codersdk.WorkspaceAgentDevcontainer) bool { return held(dc) && dc.Error == "" })
}

func TestDevcontainerWithoutPrograms(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]string{"docker": "there is no docker on the PATH", "devcontainer": "npm install -g @devcontainers/cli"} {
		t.Run(program, func(t *testing.T) {
			d := agenttest.NewDocker(t)
			d.RemoveProgram(program)
			b := newBox(t, d, map[string]string{"app": d.Folder("app", plainConfig)}, func(c *agent.Config) {
				for i, kv := range c.Env { // this machine may have them
					if strings.HasPrefix(kv, "PATH=") {
						c.Env[i] = "PATH=" + d.Bin + ":/bin"
					}
				}
			})
			dc := b.one("app", "fails", func(dc codersdk.WorkspaceAgentDevcontainer) bool {
				return dc.Status == codersdk.WorkspaceAgentDevcontainerStatusError
			})
			if !strings.Contains(dc.Error, want) {
				t.Errorf("%q", dc.Error)
			}
		})
	}
}

// Docker that dies takes what runs in it; nothing is forgotten, and all is as it
// was once it is back.
func TestDevcontainerWhenDockerDies(t *testing.T) {
	t.Parallel()
	d := agenttest.NewDocker(t)
	b := newBox(t, d, map[string]string{"app": d.Folder("app", plainConfig)})
	before := b.one("app", "runs", held)
	d.SetDown(true)
	testwait.Until(t, "it is said", func() bool {
		var all codersdk.WorkspaceAgentListContainersResponse
		b.ask("GET", "", &all)
		return len(all.Warnings) == 1 && strings.Contains(all.Warnings[0], "cannot connect to the Docker daemon")
	})
	d.SetDown(false)
	reaches(t, b.Fixture, before.Agent.ID, codersdk.WorkspaceAgentLifecycleReady)
	after := b.one("app", "runs", func(dc codersdk.WorkspaceAgentDevcontainer) bool { return held(dc) && dc.Error == "" })
	if after.Agent.ID != before.Agent.ID || len(b.children()) != 1 {
		t.Errorf("%+v became %+v", before.Agent, after.Agent)
	}
}

// An agent that is killed leaves none behind in its containers, and the next one
// takes them over, without a second agent for any.
func TestDevcontainerAfterKill(t *testing.T) {
	t.Parallel()
	d := agenttest.NewDocker(t)
	b := &box{T: t, Fixture: agenttest.New(t), Docker: d}
	u, _ := b.Serve("")
	folder, gone := d.Folder("app", plainConfig), d.Folder("gone", plainConfig)
	b.Agent = b.Workspace("ws", func(p *provisioner.Agent) {
		p.Devcontainers = []*provisioner.Devcontainer{{Name: "app", WorkspaceFolder: folder}, {Name: "gone", WorkspaceFolder: gone}}
	})
	begin := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "agent")
		cmd.Env = append(append(os.Environ(), d.Env()...), "HOME="+t.TempDir(), "CODER_AGENT_URL="+u.String(), "CODER_AGENT_TOKEN="+b.Token,
			"CODER_AGENT_LOG_DIR="+t.TempDir(), "CODER_AGENT_DEBUG_ADDRESS=")
		var log bytes.Buffer
		cmd.Stderr = &log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill() //nolint:errcheck // it may have ended
			cmd.Wait()         //nolint:errcheck // it was killed
			if t.Failed() {
				t.Log(log.String())
			}
		})
		return cmd
	}
	first := begin()
	reaches(t, b.Fixture, b.ID, codersdk.WorkspaceAgentLifecycleReady)
	b.reach()
	before, away := b.one("app", "runs", held), b.one("gone", "runs", held)
	reaches(t, b.Fixture, before.Agent.ID, codersdk.WorkspaceAgentLifecycleReady)
	pid := must(strconv.Atoi(string(must(os.ReadFile(filepath.Join(d.Dir, "containers", before.Container.ID, "pid"))))))
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "nothing is left in the container", func() bool { return syscall.Kill(pid, 0) != nil })
	d.Remove(away.Container.ID)
	certificate := func() string {
		return string(must(b.Presence.AgentForUser(t.Context(), b.Fixture.Owner, b.ID, codersdk.RBACActionSSH)).Certificate)
	}
	old := certificate()
	begin()
	testwait.Until(t, "the next one is there", func() bool { return certificate() != old })
	b.reach()
	after, again := b.one("app", "runs", held), b.one("gone", "runs", held) // what is declared comes up
	if after.Agent.ID != before.Agent.ID || after.Container.ID != before.Container.ID || again.Container.ID == away.Container.ID {
		t.Errorf("%+v became %+v, %+v became %+v", before, after, away, again)
	}
	testwait.Until(t, "each has one agent", func() bool { return len(b.children()) == 2 })
	reaches(t, b.Fixture, after.Agent.ID, codersdk.WorkspaceAgentLifecycleReady)
}

// Where nothing needs Docker, nothing of it is called; a list is asked for then.
func TestDevcontainerIdles(t *testing.T) {
	t.Parallel()
	d := agenttest.NewDocker(t)
	b := newBox(t, d, nil)
	var all codersdk.WorkspaceAgentListContainersResponse
	if calls := d.Calls(); len(calls) != 0 {
		t.Errorf("called: %v", calls)
	}
	b.ask("GET", "", &all)
	if len(all.Containers)+len(all.Devcontainers)+len(all.Warnings) != 0 {
		t.Errorf("%+v", all)
	}
	if calls := d.Calls(); len(calls) != 1 || calls[0] != "docker_ps" {
		t.Errorf("called: %v", calls)
	}
}

// What a repository has is found, and brought up on request, or automatically where
// that is wanted.
func TestDevcontainerDiscovery(t *testing.T) {
	t.Parallel()
	for _, auto := range []bool{false, true} {
		d := agenttest.NewDocker(t)
		folder := d.Folder("repo", `{"customizations": {"coder": {"autoStart": true, "name": "Named"}}}`)
		d.Folder("repo/sub", `{"customizations": {"coder": {"ignore": true}}}`)
		d.Folder("elsewhere", plainConfig)
		if err := os.MkdirAll(filepath.Join(folder, ".git"), 0o755); err != nil {
			t.Fatal(err)
		}
		b := newBox(t, d, nil, func(c *agent.Config) {
			c.DiscoverDevcontainers, c.AutostartDevcontainers = true, auto
			c.Env = append(c.Env, "HOME="+filepath.Join(d.Dir, "work"))
		})
		dc := b.one("repo", "is found", func(dc codersdk.WorkspaceAgentDevcontainer) bool { return dc.ID != uuid.Nil })
		if !auto {
			if dc.Status != codersdk.WorkspaceAgentDevcontainerStatusStopped {
				t.Errorf("%+v", dc)
			}
			b.ask("POST", "/devcontainers/"+dc.ID.String()+"/recreate", nil)
		}
		if dc = b.one("repo", "runs", held); dc.Agent.Name != "named" {
			t.Errorf("%+v", dc.Agent)
		}
		var all codersdk.WorkspaceAgentListContainersResponse
		if b.ask("GET", "?label=devcontainer.local_folder="+folder, &all); len(all.Devcontainers) != 1 || len(all.Containers) != 1 {
			t.Errorf("%+v", all)
		}
		if b.ask("GET", "?label=devcontainer.local_folder=other", &all); len(all.Containers) != 0 {
			t.Errorf("%+v", all.Containers)
		}
	}
}
