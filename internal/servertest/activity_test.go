package servertest_test

import (
	"strings"
	"testing"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/servertest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// TestActivity explains the automatic stop of a workspace with the connections that
// the server saw.
func TestActivity(t *testing.T) {
	s := servertest.Start(t, nil)
	w, token := agentWorkspace(t, s)
	startAgent(t, s, w, token)
	ctx := t.Context()
	out, err := s.Client.WorkspaceActivity(ctx, w.ID)
	must(t, err)
	if len(out.Reasons) != 1 || !strings.Contains(out.Reasons[0], "does not stop automatically") || len(out.Evidence) != len(codersdk.ConnectionTypes()) {
		t.Fatalf("a workspace without a duration: %+v", out)
	}
	if got, failed := callTool(t, mcpSession(t, s, s.Client.SessionToken), "coder_workspace_bash", map[string]any{"workspace": "dev", "command": "true"}); failed {
		t.Fatal(got)
	}
	testwait.Until(t, "the SSH session is evidence", func() bool {
		out, err = s.Client.WorkspaceActivity(ctx, w.ID)
		must(t, err)
		for _, e := range out.Evidence {
			if e.LastAt != nil && (e.Type != codersdk.ConnectionTypeSSH || !e.Counts) {
				t.Fatalf("connections that nobody made: %+v", e)
			}
			if e.LastAt != nil {
				return true
			}
		}
		return false
	})
}
