package codersdk

import "github.com/google/uuid"

// TunnelRequest requests a tunnel to an agent.
type TunnelRequest struct {
	// PublicKey is the client's ed25519 key, 32 bytes.
	PublicKey []byte `json:"public_key"`
}

// TunnelSettings are the tunnel settings that every signed-in user can read.
type TunnelSettings struct {
	// DisableDirectConnections sends all packets through the relay.
	DisableDirectConnections bool `json:"disable_direct_connections"`
	// STUNServers report public addresses: host:port each.
	STUNServers []string `json:"stun_servers"`
}

// TunnelGrant holds what a client needs to open a tunnel to an agent.
type TunnelGrant struct {
	// Certificate is the client's certificate: DER, short-lived.
	Certificate []byte `json:"certificate"`
	// AgentCertificate is the agent's certificate to pin: DER.
	AgentCertificate []byte `json:"agent_certificate"`
	// SSHHostKey is the host key of the agent's SSH server in authorized_keys format:
	// "ssh-ed25519 AAAA...".
	SSHHostKey string `json:"ssh_host_key"`
	// Actions are the kinds of streams that Certificate allows.
	Actions []string `json:"actions"`
	// DisableDirectConnections sends all packets through the relay.
	DisableDirectConnections bool `json:"disable_direct_connections"`
	// STUNServers report public addresses: host:port each.
	STUNServers []string `json:"stun_servers,omitempty"`
	// Proxies are the healthy workspace proxies that relay tunnels.
	Proxies []TunnelProxy `json:"proxies,omitempty"`
}

// TunnelProxy is a workspace proxy at which a client and an agent can meet. The
// tokens admit them to its relay, for this agent and for a few minutes.
type TunnelProxy struct {
	ID          uuid.UUID `json:"id"`
	Name        string    `json:"name"`
	URL         string    `json:"url"`
	ClientToken string    `json:"client_token"`
	AgentToken  string    `json:"agent_token"`
}

// RelayDebug is the current state of a server's relay.
type RelayDebug struct {
	Agents         int64             `json:"agents"`
	Clients        int64             `json:"clients"`
	Hops           int64             `json:"hops"` // clients here whose agents are connected to other servers
	BytesToAgents  int64             `json:"bytes_to_agents"`
	BytesToClients int64             `json:"bytes_to_clients"`
	DroppedBytes   int64             `json:"dropped_bytes"`
	Connections    []RelayDebugAgent `json:"connections"` // at most 1,000
}

// RelayDebugAgent is an agent that is connected to a relay, or that clients wait
// for.
type RelayDebugAgent struct {
	AgentID   uuid.UUID `json:"agent_id"`
	Clients   int       `json:"clients"`
	Connected bool      `json:"connected"`
}
