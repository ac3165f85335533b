package agent_test

import (
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// The agent ends the tunnel of a user who may no longer reach the workspace,
// whatever way its packets take. Tunnels of other users continue.
func TestTunnelsEndWithRights(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("ws")
	process(t, u, a.Token)
	reaches(t, h, a.ID, codersdk.WorkspaceAgentLifecycleReady)
	row, err := h.Presence.AgentForUser(t.Context(), h.Owner, a.ID, codersdk.RBACActionSSH)
	if err != nil {
		t.Fatal(err)
	}
	dial := func(who access.Subject) *tunnel.Conn {
		t.Helper()
		conn, err := h.Board.DialAgent(t.Context(), tunnel.Grant{
			UserID: who.UserID, WorkspaceID: a.WorkspaceID, AgentID: a.ID, Actions: []string{tunnel.KindSSH},
		}, row.Certificate)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	h.Share(a.WorkspaceID, h.Stranger, true)
	own, server, other := dial(h.Owner), dial(access.Subject{}), dial(h.Stranger)
	stream, err := other.Open(t.Context(), tunnel.KindSSH, "")
	if err != nil {
		t.Fatal(err)
	}
	session := client(t, stream)
	if got := output(t, session, "echo here"); got != "here\n" {
		t.Errorf("%q", got)
	}
	if got := output(t, session, "sleep 3; echo still here"); got != "still here\n" { // longer than two pings
		t.Errorf("%q", got)
	}
	h.Share(a.WorkspaceID, h.Stranger, false)
	select {
	case <-other.Done():
	case <-time.After(testwait.Limit):
		t.Fatal("the tunnel is still open")
	}
	for _, conn := range []*tunnel.Conn{own, server} {
		if _, err := conn.Open(t.Context(), tunnel.KindSSH, ""); err != nil {
			t.Errorf("of others: %v", err)
		}
	}
	// A user who gets the right back can connect again.
	h.Share(a.WorkspaceID, h.Stranger, true)
	again := dial(h.Stranger)
	if s, err := again.Open(t.Context(), tunnel.KindSSH, ""); err != nil {
		t.Error(err)
	} else if got := output(t, client(t, s), "sleep 3; echo back"); got != "back\n" {
		t.Errorf("%q", got)
	}
}
