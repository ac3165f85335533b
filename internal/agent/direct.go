package agent

import (
	"time"

	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// sleepLimits returns the limits for tunnels whose clients are away.
func sleepLimits(m *agentrpc.Manifest) tunnel.SleepLimits {
	return tunnel.SleepLimits{Memory: m.SleepMemory, Time: time.Duration(m.SleepSeconds) * time.Second}
}

// direct returns the agent's configuration of direct paths. (NET-02)
func direct(m *agentrpc.Manifest) tunnel.Direct {
	d := tunnel.Direct{STUN: m.StunServers}
	if m.DisableDirectConnections {
		d.Disabled = "the server does not allow direct connections"
	}
	return d
}
