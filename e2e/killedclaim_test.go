package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/rule/handedover"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// readyPool is added to the local template. It has a pool of one prebuilt workspace,
// which the owner gets before the build of the claim. A script writes the owner that it
// runs for. The build of a claim replaces a resource, which waits until the test opens
// its gate.
const readyPool = `locals {
  coder_claim_first = true
}
data "coder_workspace_preset" "ready" {
  name       = "Ready"
  parameters = { repository = "", niceness = "0" }
  prebuilds { instances = 1 }
}
resource "coder_script" "owner" {
  agent_id     = coder_agent.main.id
  display_name = "Owner"
  run_on_start = true
  script       = "echo $CODER_WORKSPACE_OWNER_NAME >> $HOME/owners"
}
resource "terraform_data" "gate" {
  input            = "GATES/${data.coder_workspace.me.id}"
  triggers_replace = data.coder_workspace_owner.me.name
  provisioner "local-exec" {
    command     = "test $CLAIM = false || { echo at >> $GATE.at; until test -e $GATE.open; do sleep 0.05; done; }; echo $OWNER >> $GATE.built"
    environment = { GATE = self.input, CLAIM = data.coder_workspace.me.is_prebuild_claim, OWNER = data.coder_workspace_owner.me.name }
  }
}
`

// pool is a server with a pool of prebuilt workspaces, a provisioner, and two users who
// claim a workspace.
type pool struct {
	*testServer
	daemon   *exec.Cmd
	admin    *codersdk.Client
	users    map[string]*codersdk.Client
	template codersdk.Template
	preset   uuid.UUID
}

func newPool(t *testing.T) *pool {
	t.Helper()
	p := &pool{testServer: newTestServer(t), users: map[string]*codersdk.Client{}}
	p.provision(t)
	p.admin = p.client(p.token(t))
	template := filepath.Join(p.dir, "template")
	source := strings.ReplaceAll(readyPool, "GATES", p.dir)
	if err := errors.Join(os.CopyFS(template, os.DirFS("../examples/templates/local")),
		os.WriteFile(filepath.Join(template, "ready.tf"), []byte(source), 0o600)); err != nil {
		t.Fatal(err)
	}
	p.run(t, "templates", "push", "ready", "--directory", template, "--yes")
	var err error
	if p.template, err = p.admin.TemplateByName(t.Context(), "default", "ready"); err != nil {
		t.Fatal(err)
	}
	presets, err := p.admin.TemplateVersionPresets(t.Context(), p.template.ActiveVersionID)
	if err != nil || len(presets) != 1 {
		t.Fatal(presets, err)
	}
	p.preset = presets[0].ID
	for _, name := range []string{"ann", "bob"} {
		email := name + "@example.com"
		_, err := p.admin.CreateUser(t.Context(), codersdk.CreateUserRequestWithOrgs{
			Username: name, Email: email, Password: password, OrganizationIDs: []uuid.UUID{p.template.OrganizationID},
		})
		if err != nil {
			t.Fatal(err)
		}
		in, err := p.admin.LoginWithPassword(t.Context(), codersdk.LoginWithPasswordRequest{Email: email, Password: password})
		if err != nil {
			t.Fatal(err)
		}
		p.users[name] = p.client(in.SessionToken)
		if _, err := p.users[name].CreateUserSecret(t.Context(), "me", codersdk.CreateUserSecretRequest{Name: "own", EnvName: "SECRET", Value: name + "-secret"}); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p *pool) client(token string) *codersdk.Client {
	c := codersdk.New(&url.URL{Scheme: "http", Host: p.address})
	c.SessionToken = token
	return c
}

// provision starts the provisioner. It reuses the cache of the previous one.
func (p *pool) provision(t *testing.T) {
	t.Helper()
	p.daemon = p.start(t, filepath.Join(p.dir, "provisioner.log"), p.env("CODER_CONFIG_DIR="+filepath.Join(p.dir, "provisioner"),
		"CODER_CACHE_DIRECTORY="+filepath.Join(p.dir, "provisioner"), "CODER_PROVISIONER_DAEMON_PSK="+password, "CODER_PROMETHEUS_ENABLE=false"),
		"provisioner", "start", "--name", "only")
}

// ready waits until a prebuilt workspace can be claimed, and returns it.
func (p *pool) ready(t *testing.T) codersdk.Workspace {
	t.Helper()
	var ready codersdk.Workspace
	testwait.Until(t, "a prebuilt workspace is ready", func() bool {
		out, err := p.admin.Workspaces(t.Context(), url.Values{"q": {"owner:prebuilds"}})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(out.Workspaces, func(w codersdk.Workspace) bool {
			return w.LatestBuild.Job.Status == codersdk.ProvisionerJobStatusSucceeded && agentReady(w)
		})
		if i >= 0 {
			ready = out.Workspaces[i]
		}
		return i >= 0
	}, testwait.Every(200*time.Millisecond)) // the server limits the rate of requests
	return ready
}

func agentReady(w codersdk.Workspace) bool {
	for _, r := range w.LatestBuild.Resources {
		for _, a := range r.Agents {
			return a.Status == codersdk.WorkspaceAgentStatusConnected && a.LifecycleState == codersdk.WorkspaceAgentLifecycleReady
		}
	}
	return false
}

func (p *pool) claimRequest(name string) codersdk.CreateWorkspaceRequest {
	return codersdk.CreateWorkspaceRequest{Name: name, TemplateID: p.template.ID, TemplateVersionPresetID: &p.preset}
}

// claim sends requests of both users for the only prebuilt workspace. It kills the
// server after the pause, or after the first response if pause is nil, and repeats the
// requests. It returns the owner of the prebuilt workspace.
func (p *pool) claim(t *testing.T, ready uuid.UUID, name string, pause <-chan time.Time) string {
	t.Helper()
	asked := make(chan string, len(p.users))
	for user, c := range p.users {
		go func() {
			_, err := c.CreateWorkspace(context.Background(), "me", p.claimRequest(name))
			asked <- fmt.Sprintf("the request of %s: %v", user, err)
		}()
	}
	left := len(p.users)
	select {
	case answer := <-asked:
		t.Log(answer)
		left--
	case <-pause:
	}
	kill(p.server)
	for range left {
		t.Log(testwait.Receive(t, "the end of a request", asked))
	}
	p.serve(t)
	before, err := p.admin.Workspace(t.Context(), ready, nil)
	if err != nil {
		t.Fatalf("the prebuilt workspace is lost: %v", err)
	}
	t.Logf("it is owned by %s", before.OwnerName)
	owner := ""
	for user, c := range p.users {
		_, err := c.CreateWorkspace(t.Context(), "me", p.claimRequest(name))
		if err != nil && !codersdk.Is(err, codersdk.CodeConflict) {
			t.Fatal(err)
		}
		w, err := c.WorkspaceByOwnerAndName(t.Context(), "me", name, nil)
		if err != nil {
			t.Fatal(err)
		}
		if w.OwnerName != user {
			t.Errorf("%s has the workspace of %s", user, w.OwnerName)
		}
		if w.ID == ready && owner != "" {
			t.Errorf("%s and %s have the same workspace", owner, user)
		}
		if w.ID == ready {
			owner = user
		}
	}
	if owner == "" || before.OwnerName != "prebuilds" && before.OwnerName != owner {
		t.Fatalf("the prebuilt workspace was that of %s, and is that of %q", before.OwnerName, owner)
	}
	return owner
}

// checkOwner checks that the workspace belongs to the owner in every state of its
// build. It must have the name and the secret of the owner, and after the claim no
// script may run for another user.
func (p *pool) checkOwner(t *testing.T, owner, name, after string) {
	t.Helper()
	testwait.Until(t, "the agent serves "+owner+" after "+after, func() bool {
		cmd := exec.CommandContext(t.Context(), p.bin, "ssh", "--wait=no", name, "echo $CODER_WORKSPACE_OWNER_NAME $SECRET; cat owners")
		cmd.Dir, cmd.Env = p.dir, p.env("CODER_SESSION_TOKEN="+p.users[owner].SessionToken, "CODER_CONFIG_DIR="+filepath.Join(p.dir, owner))
		out, err := cmd.Output()
		if err != nil {
			return false
		}
		identity, ran, _ := strings.Cut(string(out), "\n")
		if identity != owner+" "+owner+"-secret" {
			t.Fatalf("after %s the workspace is that of %q", after, identity)
		}
		scripts := slices.Compact(strings.Fields(ran))
		if !slices.Equal(scripts, []string{"prebuilds", owner}) && !slices.Equal(scripts, []string{"prebuilds"}) {
			t.Fatalf("after %s the start script ran for %q", after, scripts)
		}
		return len(scripts) == 2
	}, testwait.Every(200*time.Millisecond))
	w, err := p.users[owner].WorkspaceByOwnerAndName(t.Context(), "me", name, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b := w.LatestBuild; b.BuildNumber != 2 || b.Job.Status != codersdk.ProvisionerJobStatusSucceeded && !handedover.Serves(b) {
		t.Errorf("after %s build %d is %s", after, b.BuildNumber, b.Job.Status)
	}
}

// agents returns the process IDs of agents, by the directory of their workspace.
func (p *pool) agents() map[string]int {
	all := map[string]int{}
	files, _ := filepath.Glob(filepath.Join(p.dir, ".local/share/coder-local/*/run/agent.pid"))
	for _, f := range files {
		b, _ := os.ReadFile(f)
		first, _, _ := strings.Cut(string(b), "\n")
		if pid, err := strconv.Atoi(first); err == nil && pid > 1 {
			all[filepath.Dir(filepath.Dir(f))] = pid
		}
	}
	return all
}

// killAgent kills the agent of a workspace with kill -9. The returned function starts
// the agent again with the same environment, as the machine of the workspace does.
func (p *pool) killAgent(t *testing.T, workspace uuid.UUID) (restart func()) {
	t.Helper()
	for dir, pid := range p.agents() {
		if !strings.HasSuffix(dir, workspace.String()[:8]) {
			continue
		}
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || len(environ) == 0 {
			t.Fatalf("the agent in %s is gone: %v", dir, err)
		}
		if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		testwait.Until(t, "the agent is dead", func() bool { return !lives(pid) })
		return func() {
			cmd := exec.Command("sh", filepath.Join(dir, "run", "init.sh"))
			cmd.Dir, cmd.Env = filepath.Join(dir, "home"), strings.Split(strings.Trim(string(environ), "\x00"), "\x00")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			go cmd.Wait() //nolint:errcheck // it is killed
			if err := os.WriteFile(filepath.Join(dir, "run", "agent.pid"), fmt.Appendf(nil, "%d\n", cmd.Process.Pid), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Fatalf("workspace %s has no agent on this machine", workspace)
	return nil
}

// lives reports whether a process runs. Zombies do not count.
func lives(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := bytes.Cut(b, []byte(") "))
	return err == nil && !bytes.HasPrefix(rest, []byte("Z"))
}

// waitAtBuildGate waits until builds of a claim have reached the gate more than n
// times, and returns the number of times.
func (p *pool) waitAtBuildGate(t *testing.T, workspace uuid.UUID, n int) int {
	t.Helper()
	return testwait.Value(t, "the build waits at its gate", func() int {
		b, _ := os.ReadFile(filepath.Join(p.dir, workspace.String()+".at"))
		return bytes.Count(b, []byte("\n"))
	}, func(times int) bool { return times > n })
}

// TestKilledClaim kills the server, the provisioner and the agent with kill -9 during a
// claim of a prebuilt workspace and before the build of the claim has finished. The
// workspace must get one owner, serve no other user after that, and the build must
// succeed.
func TestKilledClaim(t *testing.T) {
	t.Parallel()
	p := newPool(t)
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	for round := range 2 {
		name := fmt.Sprintf("dev%d", round)
		ready := p.ready(t).ID
		kill(p.daemon)
		var moment <-chan time.Time // nil means after the first response
		if round == 0 {
			moment = time.After(time.Duration(random.IntN(100)) * time.Millisecond)
		}
		owner := p.claim(t, ready, name, moment)
		p.checkOwner(t, owner, name, "kill -9 of the server during the claim")

		p.killAgent(t, ready)()
		p.checkOwner(t, owner, name, "kill -9 of the agent before the build")
		kill(p.server)
		p.serve(t)
		p.checkOwner(t, owner, name, "kill -9 of the server before the build")

		p.provision(t)
		times := p.waitAtBuildGate(t, ready, 0)
		kill(p.daemon)
		p.checkOwner(t, owner, name, "kill -9 of the provisioner")
		p.provision(t)
		times = p.waitAtBuildGate(t, ready, times)
		restart := p.killAgent(t, ready)
		kill(p.server)
		kill(p.daemon)
		p.provision(t)
		restart()
		p.serve(t)
		p.checkOwner(t, owner, name, "kill -9 of all")
		p.waitAtBuildGate(t, ready, times)
		p.finishBuild(t, ready, owner, name)
	}
	if next := p.ready(t); next.OwnerName != "prebuilds" {
		t.Errorf("the next prebuilt workspace is that of %s", next.OwnerName)
	}
}

// finishBuild opens the gate of the build of a claim and checks the result.
func (p *pool) finishBuild(t *testing.T, workspace uuid.UUID, owner, name string) {
	t.Helper()
	gate := filepath.Join(p.dir, workspace.String())
	if err := os.WriteFile(gate+".open", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w := testwait.Value(t, "the build of the claim has ended", func() codersdk.Workspace {
		w, err := p.admin.Workspace(t.Context(), workspace, nil)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}, func(w codersdk.Workspace) bool { return w.LatestBuild.Job.CompletedAt != nil }, testwait.Every(200*time.Millisecond))
	b := w.LatestBuild
	if w.OwnerName != owner || b.BuildNumber != 2 || b.Job.Status != codersdk.ProvisionerJobStatusSucceeded {
		t.Errorf("build %d of %s is %s %s", b.BuildNumber, w.OwnerName, b.Job.Status, b.Job.Error)
	}
	for _, r := range b.Resources {
		if len(r.Agents) > 1 {
			t.Errorf("%s has %d agents", r.Name, len(r.Agents))
		}
	}
	if out, err := os.ReadFile(gate + ".built"); err != nil || string(out) != "prebuilds\n"+owner+"\n" {
		t.Errorf("built for %q, %v", out, err)
	}
	p.checkOwner(t, owner, name, "the build")
}
