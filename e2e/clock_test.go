package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgrestest"
	"github.com/seed-2a7f8fe7/coder/internal/testport"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// TestClocksThatDiffer runs a server, a provisioner and an agent on a machine whose
// clock is an hour behind the clock of the database, and then an hour ahead. Leases,
// sessions, certificates and schedules must follow the clock of the database.
//
// Time within a process is monotonic. A wrong clock therefore has an effect only where
// code compares a time of this machine with a time of another machine.
func TestClocksThatDiffer(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"behind": time.Hour, "ahead": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newSkewed(t, ahead)
			r.sessionsEnd(t, ahead)
			r.leasesHold(t)
			r.workspaceIsReached(t)
		})
	}
}

// newSkewed starts a server. The clock of its database is ahead of this machine's.
func newSkewed(t *testing.T, ahead time.Duration) *remote {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	db := startPostgres(t)
	postgrestest.Skew(t, db.URL(), ahead)
	p := &testServer{bin: bin, dir: t.TempDir(), address: testport.FreeAddress(t), tmp: shortDir(t)}
	t.Cleanup(p.killAgents)
	r := &remote{testServer: p, log: filepath.Join(p.dir, "server.log")}
	r.server = r.start(t, r.log, r.env(), "server", "--postgres-url", db.URL(), "--http-address", p.address, "--access-url", "http://"+p.address,
		"--provisioner-daemons", "1", "--provisioner-daemon-psk", password)
	awaitHealth(t, p.address)
	r.user = newFaultyNetwork(t, p.address)
	r.run(t, "login", "http://"+p.address, "--first-user-username", "admin", "--first-user-email", "admin@example.com", "--first-user-password", password)
	return r
}

// sessionsEnd checks that a token expires after half an hour by the clock of the
// database, which responses use for all times.
func (r *remote) sessionsEnd(t *testing.T, ahead time.Duration) {
	t.Helper()
	c := r.client(t)
	token, err := c.CreateToken(t.Context(), "me", codersdk.CreateTokenRequest{TokenName: "short", Lifetime: 30 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	other := codersdk.New(c.URL)
	other.SessionToken = token.Key
	if _, err := other.User(t.Context(), "me"); err != nil {
		t.Errorf("a token of half an hour: %v", err)
	}
	resp, err := http.Get("http://" + r.address + "/api/v2/buildinfo")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if left := time.Until(date) - ahead; err != nil || left.Abs() > 30*time.Minute {
		t.Errorf("the Date of an answer is %s (%v), which is off by %s", date, err, left)
	}
}

// leasesHold kills a provisioner in the middle of a build. After its restart, the
// provisioner uploads the state from its disk, although the lease of the job has not
// expired.
func (r *remote) leasesHold(t *testing.T) {
	t.Helper()
	j, a := r.build(t, "back", "http://"+r.address, waitAtGate)
	j.open(t, 2)
	j.waitWritten(t, "r2")
	kill(a)
	testwait.Until(t, "what the provisioner ran is dead too", func() bool { return len(j.processes()) == 0 })
	j.open(t, resources)
	j.daemon(t, "a", "http://"+r.address)
	j.checkFinished(t)
}

// workspaceIsReached checks that a workspace starts and is reachable with SSH and a
// terminal, whose certificates are valid for minutes only. The schedule and the
// timestamps of the workspace must follow the clock of the database.
func (r *remote) workspaceIsReached(t *testing.T) {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	r.run(t, "templates", "push", "local", "--directory", filepath.Join(root, "examples/templates/local"), "--yes")
	r.run(t, "create", "dev", "--template", "local", "--use-parameter-defaults", "--yes")
	t.Cleanup(func() { _, _ = r.try("delete", "dev", "--yes") }) // otherwise its agent keeps running
	if out := r.run(t, "ssh", "dev", "echo reached"); !strings.Contains(out, "reached") {
		t.Errorf("coder ssh: %s", out)
	}
	terminal := r.webTerminal(t)
	terminal.waitForEcho(t, "the beginning")
	terminal.checkAllEchoed(t)
	ws, err := r.client(t).WorkspaceByOwnerAndName(t.Context(), "me", "dev", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range ws.LatestBuild.Resources {
		for _, a := range res.Agents {
			if a.Status != codersdk.WorkspaceAgentStatusConnected || a.FirstConnectedAt == nil || a.StartedAt == nil || a.ReadyAt == nil {
				t.Fatalf("the agent is %s: %+v", a.Status, a)
			}
			for name, at := range map[string]time.Time{"connected": *a.FirstConnectedAt, "started": *a.StartedAt, "was ready": *a.ReadyAt} {
				if after := at.Sub(ws.LatestBuild.CreatedAt); after < -time.Minute || after > 30*time.Minute {
					t.Errorf("the agent %s %s after its build was created", name, after)
				}
			}
		}
	}
	if ws.LatestBuild.Status != codersdk.WorkspaceStatusRunning {
		t.Errorf("the workspace is %s", ws.LatestBuild.Status)
	}
}
