package remote

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestGoneDeadline(t *testing.T) {
	began := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		what  string
		since time.Time
		want  time.Time
	}{
		{"just now", began, began.Add(goneLimit)},
		{"a minute ago", began.Add(-time.Minute), began.Add(goneLimit - time.Minute)},
		{"long ago", began.Add(-time.Hour), began.Add(goneLeast)},
		{"by a clock that is ahead", began.Add(time.Hour), began.Add(goneLimit)},
	} {
		if got := goneDeadline(c.since, began); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

func TestWaitingForAnAgentThatIsGone(t *testing.T) {
	began := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	gone := began.Add(-time.Hour)
	agent := codersdk.WorkspaceAgent{Name: "main", Status: codersdk.WorkspaceAgentStatusDisconnected, DisconnectedAt: &gone, TroubleshootingURL: "https://help.example.com"}
	for _, patient := range []bool{false, true} {
		ctx, end := context.WithCancelCause(t.Context())
		var lines []string
		w := agentWatch{patient: patient, now: func() time.Time { return began.Add(time.Second) }, report: func(s string) { lines = append(lines, s) }, end: end}
		w.check(agent, began)
		if ctx.Err() != nil {
			t.Errorf("patient %v: it ends at once: %v", patient, context.Cause(ctx))
		}
		w.now = func() time.Time { return began.Add(time.Hour) }
		w.check(agent, began)
		if len(lines) != 1 || !strings.Contains(lines[0], "disconnected since") || !strings.Contains(lines[0], "ago") {
			t.Errorf("patient %v: %q", patient, lines)
		}
		err := context.Cause(ctx)
		if patient {
			if err != nil {
				t.Errorf("--wait=yes ends: %v", err)
			}
			continue
		}
		if !codersdk.Is(err, codersdk.CodeUnavailable) || !strings.Contains(err.Error(), "disconnected since") || !strings.Contains(err.Error(), "--wait=yes") || !strings.Contains(err.Error(), "help.example.com") {
			t.Errorf("it ends with %v", err)
		}
	}
}

// An agent that did not connect in time can still connect, such as after a slow boot.
func TestWaitingForAnAgentThatNeverConnected(t *testing.T) {
	began := time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)
	agent := codersdk.WorkspaceAgent{
		Name: "main", Status: codersdk.WorkspaceAgentStatusTimeout, ConnectionTimeoutSeconds: 120, CreatedAt: began.Add(-time.Hour),
	}
	for _, patient := range []bool{false, true} {
		ctx, end := context.WithCancelCause(t.Context())
		var lines []string
		w := agentWatch{patient: patient, now: func() time.Time { return began }, report: func(s string) { lines = append(lines, s) }, end: end}
		w.check(agent, began)
		w.check(agent, began)
		err := context.Cause(ctx)
		if patient {
			if err != nil {
				t.Errorf("--wait=yes ends: %v", err)
			}
			if len(lines) != 1 || !strings.Contains(lines[0], "did not connect within 120 s") || !strings.Contains(lines[0], "1h") {
				t.Errorf("the user reads %q", lines)
			}
			continue
		}
		if !codersdk.Is(err, codersdk.CodeUnavailable) || !strings.Contains(err.Error(), "did not connect within 120 s") ||
			!strings.Contains(err.Error(), "1h") || !strings.Contains(err.Error(), "--wait=yes") {
			t.Errorf("it ends with %v", err)
		}
	}
}

// Nobody but the user starts an external agent, so the first line says how.
func TestWaitingForAnExternalAgent(t *testing.T) {
	for status, want := range map[codersdk.WorkspaceAgentStatus]int{
		codersdk.WorkspaceAgentStatusConnecting: 1, codersdk.WorkspaceAgentStatusDisconnected: 1, codersdk.WorkspaceAgentStatusConnected: 0,
	} {
		var lines []string
		w := agentWatch{hint: "start it", now: time.Now, report: func(s string) { lines = append(lines, s) }, end: func(err error) { t.Errorf("%s: it ends with %v", status, err) }}
		for range 2 {
			w.check(codersdk.WorkspaceAgent{Name: "main", Status: status}, time.Now())
		}
		if len(lines) != want || want > 0 && lines[0] != "start it" {
			t.Errorf("%s: the user reads %q", status, lines)
		}
	}
}

func TestTargetsOfVSCode(t *testing.T) {
	for host, want := range map[string]string{
		"coder-vscode.coder.example.com--ann--dev":              "ann/dev",
		"coder-vscode.coder.example.com--ann--dev.main":         "ann/dev.main",
		"coder-vscode.xn--bcher-kva.example.com--ann--dev":      "ann/dev",
		"coder-vscode.xn--bcher-kva.example.com--ann--dev.main": "ann/dev.main",
		"coder-vscode--ann--dev":                                "ann/dev",
		"coder-vscode--ann--dev--main":                          "ann/dev.main",
	} {
		if got, err := vscodeTarget(host); got != want || err != nil {
			t.Errorf("%s is %s, %v, want %s", host, got, err, want)
		}
	}
	for _, host := range []string{"dev", "coder-vscode--dev", "example.com--ann--dev"} {
		if got, err := vscodeTarget(host); err == nil {
			t.Errorf("%s is %s", host, got)
		}
	}
}
