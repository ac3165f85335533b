package insight

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// TestExplain explains running and stopped workspaces.
func TestExplain(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) *time.Time { v := now.Add(d); return &v }
	running := func(deadline, latest *time.Time) codersdk.WorkspaceBuild {
		return codersdk.WorkspaceBuild{
			Status: codersdk.WorkspaceStatusRunning, Transition: codersdk.WorkspaceTransitionStart, CreatedAt: now.Add(-8 * time.Hour), Deadline: deadline, MaxDeadline: latest,
		}
	}
	stopped := func(reason codersdk.BuildReason) codersdk.WorkspaceBuild {
		return codersdk.WorkspaceBuild{
			Status: codersdk.WorkspaceStatusStopped, Transition: codersdk.WorkspaceTransitionStop, CreatedAt: now.Add(-time.Hour), Reason: reason, InitiatorName: "ann",
		}
	}
	open := func(kinds ...codersdk.ConnectionType) (out []codersdk.ActivityEvidence) {
		for _, kind := range codersdk.ConnectionTypes() {
			e := codersdk.ActivityEvidence{Type: kind, Counts: counts(kind)}
			for _, k := range kinds {
				if k == kind {
					e.Open++
				}
			}
			out = append(out, e)
		}
		return out
	}
	for name, c := range map[string]struct {
		build    codersdk.WorkspaceBuild
		used     time.Time
		next     *time.Time
		deleting *time.Time
		bump     time.Duration
		evidence []codersdk.ActivityEvidence
		want     []string
	}{
		"never stops":   {running(nil, nil), now, nil, nil, time.Hour, nil, []string{"does not stop automatically"}},
		"not used yet":  {running(at(90*time.Minute), nil), now.Add(-9 * time.Hour), nil, nil, time.Hour, open(), []string{"stops at 2026-03-02 13:30 UTC, in 1h 30m.", "at least 1h ahead, and there was none since the start."}},
		"used":          {running(at(40*time.Minute), nil), now.Add(-20 * time.Minute), nil, nil, time.Hour, open(), []string{"in 40m.", "The last activity, at 2026-03-02 11:40 UTC, set it."}},
		"used long ago": {running(at(40*time.Minute), nil), now.Add(-3 * time.Hour), nil, nil, time.Hour, open(), []string{"in 40m.", "The last activity was at 2026-03-02 09:00 UTC."}},
		"ssh":           {running(at(time.Hour), nil), now, nil, nil, time.Hour, open("ssh"), []string{"in 1h.", "there is activity now: 1 SSH session."}},
		"editors and terminal": {running(at(time.Hour), nil), now, nil, nil, time.Hour, open("vscode", "vscode", "jetbrains", "reconnecting_pty"),
			[]string{"in 1h.", "now: 2 VS Code sessions, 1 JetBrains session, 1 web terminal."}},
		"app and port": {running(at(time.Hour), nil), now.Add(-9 * time.Hour), nil, nil, time.Hour, open("workspace_app", "port_forwarding"),
			[]string{"in 1h.", "none since the start.", "Not counted as activity: 1 app connection, 1 forwarded port."}},
		"required stop": {running(at(26*time.Hour), at(26*time.Hour)), now, nil, nil, time.Hour, open("ssh"), []string{"in 1d 2h.", "The template requires this stop"}},
		"a required stop later": {running(at(time.Hour), at(48*time.Hour)), now, nil, nil, time.Hour, open("ssh"),
			[]string{"in 1h.", "1 SSH session", "cannot be extended beyond 2026-03-04 12:00 UTC"}},
		"no bump":  {running(at(time.Hour), nil), now, nil, nil, 0, open("ssh"), []string{"in 1h.", "activity bump of the template is 0"}},
		"overdue":  {running(at(-5*time.Minute), nil), now.Add(-2 * time.Hour), nil, nil, time.Hour, open(), []string{"5m ago.", "last activity"}},
		"starting": {codersdk.WorkspaceBuild{Status: codersdk.WorkspaceStatusStarting, Transition: codersdk.WorkspaceTransitionStart}, now, nil, nil, time.Hour, nil, []string{"is starting"}},
		"autostop": {stopped(codersdk.BuildReasonAutostop), now.Add(-3 * time.Hour), at(20 * time.Hour), nil, time.Hour, open(),
			[]string{"stopped automatically at 2026-03-02 11:00 UTC", "The last activity was at 2026-03-02 09:00 UTC, 2h before.", "It starts automatically at 2026-03-03 08:00 UTC, in 20h."}},
		"dormancy": {stopped(codersdk.BuildReasonDormancy), now.Add(-15 * 24 * time.Hour), nil, at(5 * 24 * time.Hour), time.Hour, open(),
			[]string{"not used for as long as its template allows", "14d 23h before.", "will be deleted at 2026-03-07 12:00 UTC, in 5d"}},
		"by a user": {stopped(codersdk.BuildReasonInitiator), now, nil, nil, time.Hour, open(), []string{"ann stopped the workspace at 2026-03-02 11:00 UTC."}},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts{
				workspace: codersdk.Workspace{LatestBuild: c.build, LastUsedAt: c.used, NextStartAt: c.next, DeletingAt: c.deleting},
				bump:      c.bump, evidence: c.evidence, now: now,
			}
			got := f.explain().Reasons
			if len(got) != len(c.want) {
				t.Fatalf("%d reasons, want %d: %q", len(got), len(c.want), got)
			}
			for i, want := range c.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("reason %q, want %q", got[i], want)
				}
			}
		})
	}
}
