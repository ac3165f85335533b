package agent_test

import (
	"testing"
	"time"

	"github.com/seed-2a7f8fe7/coder/api/provisioner"
	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/agent"
	"github.com/seed-2a7f8fe7/coder/internal/agenttest"
	"github.com/seed-2a7f8fe7/coder/internal/testwait"
)

// What a template has watched is measured and reported; what cannot be measured
// keeps nobody from anything.
func TestMonitors(t *testing.T) {
	h := agenttest.New(t)
	u, _ := h.Serve("")
	a := h.Workspace("ws", func(p *provisioner.Agent) {
		p.ResourcesMonitoring = &provisioner.ResourcesMonitoring{
			Memory: &provisioner.MemoryResourceMonitor{Enabled: true, Threshold: 1},
			Volumes: []*provisioner.VolumeResourceMonitor{
				{Path: "/", Enabled: true, Threshold: 100}, {Path: "/nowhere", Enabled: true, Threshold: 50}, {Path: "/tmp", Threshold: 50},
			},
		}
	})
	stop := process(t, u, a.Token, func(c *agent.Config) { c.MonitorInterval = 10 * time.Millisecond })
	find := func(path string) *codersdk.WorkspaceAgentMonitor {
		for _, m := range view(t, h, a.ID).ResourceMonitors {
			if m.Path == path {
				return &m
			}
		}
		return nil
	}
	testwait.Until(t, "memory and volume are known", func() bool { return find("").ChangedAt != nil && find("/").ChangedAt != nil })
	if m := find(""); !m.Short || m.Percent < 1 || m.Threshold != 1 {
		t.Errorf("memory: %+v", m)
	}
	if m := find("/"); m.Short {
		t.Errorf("the volume: %+v", m)
	}
	if m := find("/nowhere"); m == nil || m.ChangedAt != nil {
		t.Errorf("a volume that is not there: %+v", m)
	}
	if find("/tmp") != nil {
		t.Error("what is not enabled is watched")
	}
	stop()
}
