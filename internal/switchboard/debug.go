package switchboard

import (
	"bytes"
	"slices"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// maxShown bounds how many agents Debug lists.
const maxShown = 1000

// Debug reports the state of the board, for an analysis of faults.
func (b *Board) Debug() codersdk.RelayDebug {
	out := codersdk.RelayDebug{
		Agents: b.stats.agents.Load(), Clients: b.stats.clients.Load(), Hops: b.stats.hops.Load(),
		BytesToAgents: b.stats.toAgents.Load(), BytesToClients: b.stats.toClients.Load(),
		DroppedBytes: b.stats.unknown.Load() + b.stats.overflow.Load() + b.stats.offline.Load(),
		Connections:  []codersdk.RelayDebugAgent{},
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, h := range b.hubs {
		if len(out.Connections) == maxShown {
			break
		}
		out.Connections = append(out.Connections, codersdk.RelayDebugAgent{AgentID: id, Connected: h.agent != nil, Clients: h.clients})
	}
	slices.SortFunc(out.Connections, func(x, y codersdk.RelayDebugAgent) int { return bytes.Compare(x.AgentID[:], y.AgentID[:]) })
	return out
}
