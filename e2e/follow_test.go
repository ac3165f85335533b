package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// beats is a template file with a script that counts in the agent's log until DIR/stop
// exists.
const beats = `resource "coder_script" "beats" {
  agent_id     = coder_agent.main.id
  display_name = "Count"
  run_on_start = true
  script       = "i=0; until test -e DIR/stop; do i=$((i+1)); echo $i; sleep 0.1; done"
}
`

// counter is an agent metadata item that counts in DIR/count.
const counter = `resource "coder_agent" "main" {
  metadata {
    key          = "count"
    display_name = "Count"
    script       = "echo x >>DIR/count; wc -l <DIR/count"
    interval     = 1
    timeout      = 5
  }
`

// addCounters adds beats and counter to a template.
func addCounters(t *testing.T, template, dir string) {
	t.Helper()
	file := filepath.Join(template, "main.tf")
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	in := strings.NewReplacer("DIR", dir)
	changed := strings.Replace(string(source), "resource \"coder_agent\" \"main\" {\n", in.Replace(counter), 1)
	if changed == string(source) {
		t.Fatal("the template has no agent main")
	}
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(template, "beats.tf"), []byte(in.Replace(beats)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// at returns the server with the address of a replica.
func (f *fleet) at(i int) *testServer {
	own := *f.testServer
	own.address = f.replicas[i].address
	return &own
}

// follower is a connection that receives increasing numbers.
type follower struct {
	name  string
	last  atomic.Int64 // the last number
	ended chan error
}

// follow starts a follower, which calls each for every message. The connection must
// stay open during the test.
func follow[T any](t *testing.T, name string, c *codersdk.Client, path string, q url.Values, each func(*follower, T) error) *follower {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	w := &follower{name: name, ended: make(chan error, 1)}
	go func() { w.ended <- codersdk.Follow(ctx, c, path, q, func(m T) error { return each(w, m) }) }()
	return w
}

// waitForProgress waits until the follower has received the next three numbers.
func (w *follower) waitForProgress(t *testing.T, after string) {
	t.Helper()
	start, goal := time.Now(), w.last.Load()+3
	testwait.Until(t, w.name+" continues after "+after, func() bool {
		select {
		case err := <-w.ended:
			t.Fatalf("after %s: %s ended: %v", after, w.name, err)
		default:
		}
		return w.last.Load() >= goal
	})
	t.Logf("after %s: %s continues after %s", after, w.name, time.Since(start).Round(time.Millisecond))
}

// TestFollowersOutliveTheOtherReplica follows the log and the metadata of an agent at
// one replica, and kills the replica that the agent is connected to with kill -9. Then
// it swaps the replicas and repeats this. The connections must stay open, and each line
// must arrive exactly once.
func TestFollowersOutliveTheOtherReplica(t *testing.T) {
	t.Parallel()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet(t, bin)
	dir := t.TempDir()
	f.prepare(t, func(template string) { addCounters(t, template, dir) })
	agent := f.agent(t, "dev")
	stopped := 0
	stop := func(i int) { // the agent connects to the other replica
		kill(f.replicas[i].cmd)
		stopped = i
	}
	stop(0)
	for range 2 {
		f.serve(t, stopped, bin)
		near, far := stopped, 1-stopped
		c := f.at(near).client(t)
		followers := []*follower{
			follow(t, "the agent's log", c, "/workspaceagents/"+agent.String()+"/logs", url.Values{"follow": {"true"}},
				func(w *follower, lines []codersdk.WorkspaceAgentLog) error {
					for _, l := range lines {
						var n int64
						if _, err := fmt.Sscanf(l.Output, "%d", &n); err != nil {
							continue // a line of another script
						}
						if want := w.last.Load() + 1; n != want {
							return fmt.Errorf("line %d came, not %d", n, want)
						}
						w.last.Store(n)
					}
					return nil
				}),
			follow(t, "the agent's metadata", c, "/workspaceagents/"+agent.String()+"/watch-metadata-ws", nil,
				func(w *follower, e struct {
					Data []codersdk.WorkspaceAgentMetadata
				}) error {
					for _, m := range e.Data {
						var n int64
						if _, err := fmt.Sscanf(m.Result.Value, "%d", &n); err == nil && m.Description.Key == "count" {
							w.last.Store(n)
						}
					}
					return nil
				}),
		}
		for _, w := range followers {
			w.waitForProgress(t, "the beginning")
		}
		stop(far)
		for _, w := range followers {
			w.waitForProgress(t, "kill -9 of the replica of the agent")
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "stop"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.serve(t, stopped, bin)
}

// agent returns the agent of a workspace.
func (f *fleet) agent(t *testing.T, workspace string) uuid.UUID {
	t.Helper()
	ws, err := f.client(t).WorkspaceByOwnerAndName(t.Context(), "me", workspace, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range ws.LatestBuild.Resources {
		for _, a := range r.Agents {
			return a.ID
		}
	}
	t.Fatalf("workspace %s has no agent", workspace)
	return uuid.Nil
}

// TestBuildsOutliveTheOtherReplica runs builds on provisioners that are connected to
// one replica. It follows and cancels the builds at the other replica, while the first
// is killed with kill -9.
func TestBuildsOutliveTheOtherReplica(t *testing.T) {
	t.Parallel()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	f := newFleet(t, bin)
	f.run(t, "login", f.balancer.url(), "--first-user-username", "admin", "--first-user-email", "admin@example.com", "--first-user-password", password)
	// begin starts a build on a provisioner of the far replica, and returns its ID.
	begin := func(name string, near int) (*job, string) {
		f.balancer.remove(f.replicas[near].address, true)
		j, _ := f.build(t, name, f.balancer.url(), waitAtGate)
		testwait.Until(t, "the first resource is begun", func() bool { return len(j.processes()) > 0 })
		f.balancer.remove(f.replicas[near].address, false)
		var w struct {
			LatestBuild struct{ ID string } `json:"latest_build"`
		}
		j.request(t, http.MethodGet, "/users/me/workspace/"+name, &w)
		return j, w.LatestBuild.ID
	}

	j, build := begin("logged", 0)
	var lines []codersdk.ProvisionerJobLog
	log := follow(t, "the log of the build", f.at(0).client(t), "/workspacebuilds/"+build+"/logs", url.Values{"follow": {"true"}},
		func(w *follower, l codersdk.ProvisionerJobLog) error {
			lines = append(lines, l)
			w.last.Add(1)
			return nil
		})
	testwait.Until(t, "lines of the build", func() bool { return log.last.Load() > 0 })
	kill(f.replicas[1].cmd)
	j.open(t, resources)
	if err := testwait.Receive(t, "the end of the log", log.ended); err != nil {
		t.Errorf("following the log ended with %v", err)
	}
	var all []codersdk.ProvisionerJobLog
	if err := json.Unmarshal(f.at(0).send(t, http.MethodGet, "/workspacebuilds/"+build+"/logs"), &all); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(lines, all) {
		t.Errorf("%d lines were followed, the log has %d", len(lines), len(all))
	}
	j.checkFinished(t)
	f.serve(t, 1, bin)

	j, build = begin("canceled", 1)
	kill(f.replicas[0].cmd)
	f.at(1).request(t, http.MethodPatch, "/workspacebuilds/"+build+"/cancel", &struct{}{})
	testwait.Until(t, "what Terraform ran has ended", func() bool { return len(j.processes()) == 0 })
	f.serve(t, 0, bin)
	testwait.Until(t, "the build is canceled", func() bool {
		var b codersdk.WorkspaceBuild
		f.at(1).request(t, http.MethodGet, "/workspacebuilds/"+build, &b)
		return b.Status == codersdk.WorkspaceStatusCanceled
	}, testwait.Every(200*time.Millisecond)) // the server limits the rate of requests
	testwait.Receive(t, "the end of the command", j.created)
	f.run(t, "delete", j.name, "--yes")
}
