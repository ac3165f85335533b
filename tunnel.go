package coder

import "github.com/google/uuid"

// TunnelRequest asks for a tunnel to an agent.
type TunnelRequest struct {
	// PublicKey is the client's ed25519 key, 32 bytes.
	PublicKey []byte `json:"public_key"`
}

// TunnelSettings are what the server says of tunnels to anybody who is signed in.
type TunnelSettings struct {
	// DisableDirectConnections says that packets go through the relay only.
	DisableDirectConnections bool `json:"disable_direct_connections"`
	// STUNServers tell an end its public addresses: host:port each.
	STUNServers []string `json:"stun_servers"`
}

// TunnelGrant is what a client needs to open a tunnel to an agent.
type TunnelGrant struct {
	// Certificate is the client's, DER, short-lived.
	Certificate []byte `json:"certificate"`
	// AgentCertificate is the agent's, DER, to be pinned.
	AgentCertificate []byte `json:"agent_certificate"`
	// SSHHostKey is the key of the agent's SSH server in the form of
	// authorized_keys: "ssh-ed25519 AAAA...".
	SSHHostKey string `json:"ssh_host_key"`
	// Actions are the kinds of streams that Certificate allows.
	Actions []string `json:"actions"`
	// DisableDirectConnections says that packets go through the relay only.
	DisableDirectConnections bool `json:"disable_direct_connections"`
	// STUNServers tell the client its public addresses: host:port each.
	STUNServers []string `json:"stun_servers,omitempty"`
}

// RelayDebug is what a server's relay does at the moment.
type RelayDebug struct {
	Agents         int64             `json:"agents"`
	Clients        int64             `json:"clients"`
	Hops           int64             `json:"hops"` // clients here whose agents are with other servers
	BytesToAgents  int64             `json:"bytes_to_agents"`
	BytesToClients int64             `json:"bytes_to_clients"`
	DroppedBytes   int64             `json:"dropped_bytes"`
	Connections    []RelayDebugAgent `json:"connections"` // at most 1,000
}

// RelayDebugAgent is an agent that a relay knows: connected to it, or awaited
// by clients.
type RelayDebugAgent struct {
	AgentID   uuid.UUID `json:"agent_id"`
	Clients   int       `json:"clients"`
	Connected bool      `json:"connected"`
}
