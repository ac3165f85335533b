package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// planning is a template whose start can be planned ahead. Each apply of a start writes the
// token of its agent to the file FILE.at, and waits for the file FILE.open.
const planning = `terraform {
  required_providers {
    coder = { source = "coder/coder" }
  }
}
data "coder_workspace" "me" {}
resource "coder_agent" "main" {
  count = data.coder_workspace.me.start_count
  os    = "linux"
  arch  = "amd64"
}
resource "terraform_data" "host" {
  count = data.coder_workspace.me.start_count
  input = coder_agent.main[0].token
  provisioner "local-exec" {
    command = "echo ${self.input} >> FILE.at; until test -e FILE.open; do sleep 0.05; done"
  }
}
`

// planner is a server that plans ahead, a provisioner behind a network that can fail, and a
// workspace.
type planner struct {
	*testServer
	net  *faultyNetwork
	jobs *exec.Cmd // the provisioner
	user *codersdk.Client
	file string
}

// serveAhead starts the server.
func (p *planner) serveAhead(t *testing.T) {
	t.Helper()
	p.server = p.start(t, filepath.Join(p.dir, "server.log"), p.env("CODER_WORKSPACE_PLANS_AHEAD=10"), "server", "--http-address", p.address,
		"--access-url", "http://"+p.address, "--provisioner-daemons", "0", "--provisioner-daemon-psk", password)
	awaitHealth(t, p.address)
}

// provision starts the provisioner.
func (p *planner) provision(t *testing.T) {
	t.Helper()
	p.jobs = p.start(t, filepath.Join(p.dir, "provisioner.log"), p.env("CODER_CONFIG_DIR="+filepath.Join(p.dir, "provisioner"), "CODER_URL="+p.net.url(),
		"CODER_CACHE_DIRECTORY="+filepath.Join(p.dir, "provisioner"), "CODER_PROVISIONER_DAEMON_PSK="+password, "CODER_PROMETHEUS_ENABLE=false"),
		"provisioner", "start", "--name", "only", "--concurrency", "2")
}

func newPlanner(t *testing.T) *planner {
	t.Helper()
	p := &planner{testServer: newTestServer(t)}
	kill(p.server)
	p.serveAhead(t)
	p.user, p.file, p.net = p.client(t), filepath.Join(p.dir, "gate"), newFaultyNetwork(t, p.address)
	p.provision(t)
	template := filepath.Join(p.dir, "template")
	err := errors.Join(os.Mkdir(template, 0o700), os.WriteFile(filepath.Join(template, "main.tf"), []byte(strings.ReplaceAll(planning, "FILE", p.file)), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	p.gate(t, true)
	p.run(t, "templates", "push", "planning", "--directory", template, "--yes")
	p.run(t, "create", "dev", "--template", "planning", "--yes")
	p.ended(t, codersdk.WorkspaceStatusRunning)
	return p
}

// gate opens or closes the gate of applies, and forgets earlier ones.
func (p *planner) gate(t *testing.T, open bool) {
	t.Helper()
	for _, name := range []string{p.file + ".open", p.file + ".at"} {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if open {
		p.open(t)
	}
}

func (p *planner) open(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(p.file+".open", nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// applies returns the tokens of agents that starts applied.
func (p *planner) applies() []string {
	b, _ := os.ReadFile(p.file + ".at") // a missing file has none
	return strings.Fields(string(b))
}

// ended waits for the end of the last build.
func (p *planner) ended(t *testing.T, want codersdk.WorkspaceStatus) codersdk.Workspace {
	t.Helper()
	w := testwait.Value(t, "the build ends", func() codersdk.Workspace {
		w, _ := p.user.WorkspaceByOwnerAndName(t.Context(), "me", "dev", nil) // the server can be away
		return w
	}, func(w codersdk.Workspace) bool { return w.LatestBuild.Job.CompletedAt != nil })
	if w.LatestBuild.Status != want {
		t.Fatalf("the workspace is %s, want %s: %s\n%s", w.LatestBuild.Status, want, w.LatestBuild.Job.Error, p.run(t, "logs", "dev"))
	}
	return w
}

// query returns the result of a query of the database.
func (p *planner) query(t *testing.T, sql string) string {
	t.Helper()
	url := strings.TrimSpace(p.run(t, "server", "postgres-builtin-url", "--raw-url"))
	out, err := exec.Command("psql", "-v", "ON_ERROR_STOP=1", "-tA", url, "-c", sql).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", sql, err, out)
	}
	return strings.TrimSpace(string(out))
}

// plan stops the workspace and waits for the plan of its start.
func (p *planner) plan(t *testing.T) {
	t.Helper()
	p.run(t, "stop", "dev", "--yes")
	p.ended(t, codersdk.WorkspaceStatusStopped)
	testwait.Until(t, "the start is planned", func() bool {
		return p.query(t, `SELECT count(*) FROM workspace_plans WHERE octet_length(plan) > 0`) == "1"
	})
}

// begin requests the start.
func (p *planner) begin(t *testing.T) {
	t.Helper()
	w, err := p.user.WorkspaceByOwnerAndName(t.Context(), "me", "dev", nil)
	if err == nil {
		_, err = p.user.CreateWorkspaceBuild(t.Context(), w.ID, codersdk.CreateWorkspaceBuildRequest{Transition: codersdk.WorkspaceTransitionStart})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// taken waits until the start has taken its plan.
func (p *planner) taken(t *testing.T) {
	t.Helper()
	testwait.Until(t, "the start takes its plan", func() bool { return p.query(t, `SELECT count(*) FROM workspace_plans`) == "0" })
}

// check waits for the end of the start. The plan was applied at most once, the build planned as
// often as wanted, and the token of the agent is that of the last apply.
func (p *planner) check(t *testing.T, used, planned, applies int) {
	t.Helper()
	w := p.ended(t, codersdk.WorkspaceStatusRunning)
	log := p.run(t, "logs", "dev")
	if n := strings.Count(log, " is applied"); n != used {
		t.Errorf("the plan was applied %d times, want %d\n%s", n, used, log)
	}
	stages := p.query(t, fmt.Sprintf(`SELECT count(*) FROM (SELECT stage, lag(stage) OVER (ORDER BY id) AS before FROM provisioner_job_logs WHERE job_id = '%s') l
		WHERE stage = 'Planning' AND before IS DISTINCT FROM stage`, w.LatestBuild.Job.ID))
	if stages != fmt.Sprint(planned) {
		t.Errorf("the build planned %s times, want %d\n%s", stages, planned, log)
	}
	tokens := p.applies()
	if len(tokens) != applies {
		t.Fatalf("the start was applied %d times, want %d\n%s", len(tokens), applies, log)
	}
	have := p.query(t, fmt.Sprintf(`SELECT count(*) FROM workspace_agents a JOIN workspace_resources r ON r.id = a.resource_id
		WHERE r.job_id = '%s' AND a.token_hash = sha256(convert_to('%s', 'UTF8'))`, w.LatestBuild.Job.ID, tokens[len(tokens)-1]))
	if have != "1" {
		t.Errorf("%s agents have the token of the last apply", have)
	}
}

// TestKilledServerAppliesAPlanOnce kills the server after a plan is made, after the start took
// the plan but before the provisioner received it, while the provisioner applies it, and then together
// with the provisioner.
func TestKilledServerAppliesAPlanOnce(t *testing.T) {
	t.Parallel()
	p := newPlanner(t)

	p.plan(t)
	kill(p.server)
	p.serveAhead(t)
	p.gate(t, true)
	p.begin(t)
	p.check(t, 1, 0, 1)

	p.plan(t)
	p.gate(t, true)
	p.net.set("hole")
	p.begin(t)
	p.taken(t)
	kill(p.server)
	p.net.set("cut")
	p.serveAhead(t)
	p.net.set("up")
	p.check(t, 0, 1, 1)

	p.plan(t)
	p.gate(t, false)
	p.begin(t)
	testwait.Until(t, "the plan is being applied", func() bool { return len(p.applies()) == 1 })
	kill(p.server)
	p.serveAhead(t)
	p.open(t)
	p.check(t, 1, 0, 1)

	p.plan(t)
	p.gate(t, false)
	p.begin(t)
	testwait.Until(t, "the plan is being applied", func() bool { return len(p.applies()) == 1 })
	kill(p.jobs)
	kill(p.server)
	p.serveAhead(t)
	p.provision(t)
	p.open(t)
	p.check(t, 1, 1, 2)
}
