package agent

import (
	"github.com/seed-2a7f8fe7/coder/api/agentrpc"
	"github.com/seed-2a7f8fe7/coder/internal/tunnel"
)

// direct says how the agent takes part in direct paths. (NET-02)
func direct(m *agentrpc.Manifest) tunnel.Direct {
	d := tunnel.Direct{STUN: m.StunServers}
	if m.DisableDirectConnections {
		d.Disabled = "the server does not allow direct connections"
	}
	return d
}
