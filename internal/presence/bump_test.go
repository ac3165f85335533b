package presence_test

import (
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

// TestSessionsPutTheStopOff: each kind of session does, a connection alone does
// not, and none beyond what the template insists on.
func TestSessionsPutTheStopOff(t *testing.T) {
	h, clock := open(t)
	a := h.Workspace("ws")
	exec := func(sql string, args ...any) {
		t.Helper()
		_, err := h.Store.Pool().Exec(t.Context(), sql, args...)
		must(t, err)
	}
	for what, c := range map[string]struct {
		stats  presence.Stats
		latest time.Duration // from now on; 0: never
		want   time.Duration
	}{
		"ssh":               {presence.Stats{SSH: 1}, 0, time.Hour},
		"vscode":            {presence.Stats{VSCode: 1}, 0, time.Hour},
		"jetbrains":         {presence.Stats{JetBrains: 1}, 0, time.Hour},
		"terminal":          {presence.Stats{ReconnectingPTY: 1}, 0, time.Hour},
		"a connection":      {presence.Stats{Connections: 3, RxBytes: 1000}, 0, time.Minute},
		"nearly at the end": {presence.Stats{SSH: 1}, 30 * time.Minute, 30 * time.Minute},
	} {
		now := clock.now().UTC().Truncate(time.Microsecond)
		var latest *time.Time
		if c.latest > 0 {
			at := now.Add(c.latest)
			latest = &at
		}
		exec(`UPDATE workspace_builds SET deadline = $1, max_deadline = $2`, now.Add(time.Minute), latest)
		conn := connect(t, h, a.Token)
		_, err := h.Presence.PutStats(t.Context(), conn.Agent, c.stats)
		must(t, err)
		must(t, h.Presence.Beat(t.Context()))
		b, err := h.Store.BuildLatest(t.Context(), a.WorkspaceID)
		must(t, err)
		if got := b.WorkspaceBuild.Deadline; got == nil || got.Sub(now).Round(time.Millisecond) != c.want {
			t.Errorf("%s: it stops at %v, want %v", what, got, now.Add(c.want))
		}
	}
}
