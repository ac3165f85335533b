package servertest_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/client"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// TestConnectionLog goes into a workspace by each way, and finds each in the log.
func TestConnectionLog(t *testing.T) {
	s := servertest.Start(t, nil)
	agent := withAgent(t, s)
	for _, c := range []*client.Client{s.Client, s.Client.Saying(coder.ConnectionTypeVSCode), s.Client.Saying(coder.ConnectionTypeJetBrains), s.Client.Saying(coder.ConnectionTypePortForwarding), s.Client.Saying("nothing")} {
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
		"type:reconnecting_pty status:completed": 1, "type:vscode": 1, "type:jetbrains": 1, "type:port_forwarding": 1, "type:ssh status:completed": 2,
		"username:me workspace_owner:admin organization:default": 6, "username:nobody": 0, `connected_after:"2100-01-01"`: 0,
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

// logged gives the entries of a search once there are so many: they are
// written a moment later.
func logged(t *testing.T, c *client.Client, q string, n int) []coder.ConnectionLog {
	t.Helper()
	again := time.NewTicker(50 * time.Millisecond) // far below the limit of requests
	defer again.Stop()
	for ; ; <-again.C {
		var out coder.ConnectionLogResponse
		resp, err := c.Request(t.Context(), http.MethodGet, "/connectionlog", url.Values{"q": {q}, "limit": {"50"}}, nil)
		must(t, err)
		read(t, resp, &out)
		if int(out.Count) == n && len(out.ConnectionLogs) == n {
			return out.ConnectionLogs
		}
		if t.Context().Err() != nil || int(out.Count) > n {
			t.Fatalf("%s: %d entries, want %d", q, out.Count, n)
		}
	}
}

func read(t *testing.T, resp *http.Response, out any) {
	t.Helper()
	defer resp.Body.Close() //nolint:errcheck // read
	if resp.StatusCode >= 300 {
		t.Fatal(client.ReadError(resp))
	}
	must(t, json.NewDecoder(resp.Body).Decode(out))
}
