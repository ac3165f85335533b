package presence_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/presence"
)

// That something runs short is kept and logged, once each time.
func TestMonitor(t *testing.T) {
	var log bytes.Buffer
	clock := &clock{at: time.Now().Truncate(time.Second)}
	h := agenttest.New(t, func(c *presence.Config) {
		c.Now, c.Log = clock.now, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	})
	ctx := t.Context()
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.ResourcesMonitoring = &provisioner.ResourcesMonitoring{
			Memory:  &provisioner.MemoryResourceMonitor{Enabled: true, Threshold: 80},
			Volumes: []*provisioner.VolumeResourceMonitor{{Path: "/home", Enabled: true, Threshold: 0}, {Path: "/home", Enabled: true, Threshold: 7}},
		}
	})
	agent := connect(t, h, a.Token).Agent
	monitors := func() []codersdk.WorkspaceAgentMonitor {
		t.Helper()
		v, err := h.Presence.View(ctx, h.Owner, a.ID)
		must(t, err)
		return v.ResourceMonitors
	}
	if m := monitors(); len(m) != 2 || m[0].Path != "" || m[0].Threshold != 80 || m[1].Path != "/home" || m[1].Threshold != 1 || m[0].ChangedAt != nil {
		t.Fatalf("%+v", m)
	}
	begin := clock.now()
	must(t, h.Presence.SetMonitor(ctx, agent, "/home", true, 400))
	clock.pass(time.Minute)
	must(t, h.Presence.SetMonitor(ctx, agent, "/home", true, 99))
	if m := monitors()[1]; !m.Short || m.Percent != 100 || !m.ChangedAt.Equal(begin) {
		t.Errorf("%+v", m)
	}
	must(t, h.Presence.SetMonitor(ctx, agent, "/home", false, 0))
	must(t, h.Presence.SetMonitor(ctx, agent, "", false, 10))
	if m := monitors(); m[0].Short || m[0].Percent != 10 || m[1].Short || !m[1].ChangedAt.Equal(begin.Add(time.Minute)) {
		t.Errorf("%+v", m)
	}
	want(t, h.Presence.SetMonitor(ctx, agent, "/tmp", true, 99), codersdk.CodeNotFound)
	if n := strings.Count(log.String(), "is above its threshold"); n != 1 {
		t.Errorf("%d lines report the threshold:\n%s", n, log.String())
	}
}
