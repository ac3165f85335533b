package presence_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

// TestPurgeLogs checks that the logs of earlier builds are deleted once their
// agent was away for long enough, and that those of the latest build stay.
func TestPurgeLogs(t *testing.T) {
	var ahead atomic.Int64 // a duration; the service reads its clock in a goroutine
	h := agenttest.New(t, func(c *presence.Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	})
	var agents []agenttest.Agent
	fill := func(a agenttest.Agent) {
		agents = append(agents, a)
		known, err := h.Presence.AuthenticateAgent(t.Context(), a.Token)
		must(t, err)
		lines := make([]presence.LogLine, 1200) // more than a batch
		for i := range lines {
			lines[i] = presence.LogLine{CreatedAt: time.Now(), Level: "info", Output: "line"}
		}
		_, err = h.Presence.AppendLogs(t.Context(), known, presence.LogBatch{Source: uuid.New(), Lines: lines})
		must(t, err)
	}
	dev := h.Workspace("dev")
	fill(dev)
	fill(h.Build(dev.WorkspaceID, 2, codersdk.WorkspaceTransitionStart, "succeeded"))
	count := func(a agenttest.Agent) (n int) {
		must(t, h.Store.Pool().QueryRow(t.Context(), `SELECT count(*) FROM workspace_agent_logs WHERE agent_id = $1`, a.ID).Scan(&n))
		return n
	}
	purge := func(want int64) {
		t.Helper()
		if n, err := h.Presence.PurgeLogs(t.Context(), 7*24*time.Hour); err != nil || n != want {
			t.Errorf("%d lines were deleted, want %d: %v", n, want, err)
		}
	}
	ahead.Store(int64(6 * 24 * time.Hour))
	purge(0)
	ahead.Store(int64(8 * 24 * time.Hour))
	purge(1200)
	if count(agents[0]) != 0 || count(agents[1]) != 1200 {
		t.Errorf("%d lines of the first build and %d of the latest are left", count(agents[0]), count(agents[1]))
	}
	h.Build(dev.WorkspaceID, 3, codersdk.WorkspaceTransitionStop, "succeeded")
	purge(1200)
}
