package servertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// TestConnectionLog goes into a workspace by each way, and finds each in the log.
func TestConnectionLog(t *testing.T) {
	s := servertest.Start(t, nil)
	agent := withAgent(t, s)
	for _, c := range []*codersdk.Client{s.Client, s.Client.Saying(codersdk.ConnectionTypeVSCode), s.Client.Saying(codersdk.ConnectionTypeJetBrains), s.Client.Saying(codersdk.ConnectionTypePortForwarding), s.Client.Saying(codersdk.ConnectionTypeReconnectingPTY), s.Client.Saying("nothing")} {
		conn, err := tunnel.DialAgent(t.Context(), c, agent, tunnel.Options{})
		must(t, err)
		must(t, conn.Close())
	}
	v := open(t, s.Client, agent, url.Values{"reconnect": {uuid.NewString()}})
	lasting := logged(t, s.Client, "type:reconnecting_pty status:ongoing", 1)[0]
	if lasting.AgentName != "main" || lasting.WorkspaceName != "dev" || lasting.WorkspaceOwnerUsername != "admin" || lasting.IP != "127.0.0.1" ||
		lasting.SSHInfo.DisconnectTime != nil || lasting.SSHInfo.User == nil || lasting.SSHInfo.User.Username != "admin" {
		t.Errorf("a terminal that is open: %+v %+v", lasting, lasting.SSHInfo)
	}
	v.conn.CloseNow() //nolint:errcheck // that is the end of it
	for q, n := range map[string]int{
		"type:reconnecting_pty status:completed": 2, "type:vscode": 1, "type:jetbrains": 1, "type:port_forwarding": 1, "type:ssh status:completed": 2,
		"username:me workspace_owner:admin organization:default": 7, "username:nobody": 0, `connected_after:"2100-01-01"`: 0,
	} {
		logged(t, s.Client, q, n)
	}
	for q, status := range map[string]int{"type:carrier-pigeon": 400, "colour:red": 400, "workspace_id:x": 400} {
		resp, err := s.Client.Request(t.Context(), http.MethodGet, "/connectionlog", url.Values{"q": {q}}, nil)
		must(t, err)
		must(t, resp.Body.Close())
		if resp.StatusCode != status {
			t.Errorf("%s: %s", q, resp.Status)
		}
	}
	member, _ := s.Member(t, "member")
	resp, err := member.Request(t.Context(), http.MethodGet, "/connectionlog", nil, nil)
	must(t, err)
	must(t, resp.Body.Close())
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a member reads the log: %s", resp.Status)
	}
}

// TestConnectionOfAWaitingClient: a client that dials before the agent connects
// is in the log once, from the moment at which the agent is connected; one that
// gives up is not.
func TestConnectionOfAWaitingClient(t *testing.T) {
	s := servertest.Start(t, nil)
	w, token := agentWorkspace(t, s)
	id := w.LatestBuild.Resources[0].Agents[0].ID
	dial := func(ctx context.Context, asked chan<- struct{}) (*tunnel.Conn, error) {
		return tunnel.DialAgent(ctx, s.Client, id, tunnel.Options{Waiting: func() {
			select {
			case asked <- struct{}{}:
			default: // nobody counts them
			}
		}})
	}
	impatient, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	asked := make(chan struct{})
	gone := make(chan error, 1)
	go func() {
		_, err := dial(impatient, asked)
		gone <- err
	}()
	<-asked
	<-asked
	giveUp()
	if err := <-gone; err == nil {
		t.Fatal("dialed an agent that is not running")
	}
	type dialed struct {
		conn *tunnel.Conn
		err  error
	}
	done := make(chan dialed, 1)
	go func() {
		conn, err := dial(t.Context(), asked)
		done <- dialed{conn, err}
	}()
	<-asked
	<-asked
	startAgent(t, s, w, token)
	d := <-done
	must(t, d.err)
	must(t, d.conn.Close())
	e := logged(t, s.Client, "status:completed", 1)[0]
	logged(t, s.Client, "type:ssh", 1)
	if a, err := s.Client.WorkspaceAgent(t.Context(), id); err != nil || a.FirstConnectedAt == nil || e.ConnectTime.Before(*a.FirstConnectedAt) {
		t.Errorf("%v: connected at %v, the agent at %v", err, e.ConnectTime, a.FirstConnectedAt)
	}
}

// logged returns the entries of a search once there are so many: they are
// written a moment later.
func logged(t *testing.T, c *codersdk.Client, q string, n int) []codersdk.ConnectionLog {
	t.Helper()
	var out codersdk.ConnectionLogResponse
	testwait.Until(t, fmt.Sprintf("%d entries of %s", n, q), func() bool {
		out = codersdk.ConnectionLogResponse{}
		resp, err := c.Request(t.Context(), http.MethodGet, "/connectionlog", url.Values{"q": {q}, "limit": {"50"}}, nil)
		must(t, err)
		read(t, resp, &out)
		if int(out.Count) > n {
			t.Fatalf("%s: %d entries, want %d", q, out.Count, n)
		}
		return int(out.Count) == n && len(out.ConnectionLogs) == n
	}, testwait.Every(50*time.Millisecond), testwait.Showing(func() string { return fmt.Sprintf("%d entries", out.Count) }))
	return out.ConnectionLogs
}

func read(t *testing.T, resp *http.Response, out any) {
	t.Helper()
	defer resp.Body.Close() //nolint:errcheck // read
	if resp.StatusCode >= 300 {
		t.Fatal(codersdk.ReadError(resp))
	}
	must(t, json.NewDecoder(resp.Body).Decode(out))
}
