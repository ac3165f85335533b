package codersdk_test

import (
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

func TestAgentStatus(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *time.Time { return new(now.Add(-d)) }
	const minute = time.Minute
	for name, c := range map[string]struct {
		times codersdk.AgentTimes
		want  codersdk.WorkspaceAgentStatus
	}{
		"new":                  {codersdk.AgentTimes{Created: *ago(minute), ConnectionTimeout: 2 * minute}, "connecting"},
		"late":                 {codersdk.AgentTimes{Created: *ago(2*minute + 1), ConnectionTimeout: 2 * minute}, "timeout"},
		"late without a limit": {codersdk.AgentTimes{Created: *ago(1000 * time.Hour)}, "connecting"},
		"there":                {codersdk.AgentTimes{FirstConnected: ago(minute), LastConnected: ago(codersdk.AgentInactiveTimeout)}, "connected"},
		"silent":               {codersdk.AgentTimes{FirstConnected: ago(minute), LastConnected: ago(codersdk.AgentInactiveTimeout + 1)}, "disconnected"},
		"gone":                 {codersdk.AgentTimes{FirstConnected: ago(minute), LastConnected: ago(2), Disconnected: ago(1)}, "disconnected"},
		"back":                 {codersdk.AgentTimes{FirstConnected: ago(minute), LastConnected: ago(1), Disconnected: ago(2)}, "connected"},
		"late but there":       {codersdk.AgentTimes{Created: *ago(time.Hour), ConnectionTimeout: minute, FirstConnected: ago(1), LastConnected: ago(1)}, "connected"},
		"never heard again":    {codersdk.AgentTimes{FirstConnected: ago(1)}, "disconnected"},
	} {
		if got := codersdk.AgentStatus(now, c.times); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAgentHealth(t *testing.T) {
	for _, c := range []struct {
		status    codersdk.WorkspaceAgentStatus
		lifecycle codersdk.WorkspaceAgentLifecycle
		healthy   bool
	}{
		{"connecting", "created", true},
		{"connected", "starting", true},
		{"connected", "ready", true},
		{"connected", "shutting_down", true},
		{"timeout", "created", false},
		{"disconnected", "ready", false},
		{"disconnected", "off", false},
		{"connected", "start_error", false},
		{"connected", "start_timeout", false},
	} {
		got := codersdk.AgentHealth(c.status, c.lifecycle)
		if got.Healthy != c.healthy || got.Healthy != (got.Reason == "") {
			t.Errorf("%s and %s: %+v", c.status, c.lifecycle, got)
		}
	}
}
