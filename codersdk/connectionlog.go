package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// ConnectionType is the kind of a connection to a workspace.
type ConnectionType string

// Values of ConnectionType.
const (
	ConnectionTypeSSH             ConnectionType = "ssh"
	ConnectionTypeVSCode          ConnectionType = "vscode"
	ConnectionTypeJetBrains       ConnectionType = "jetbrains"
	ConnectionTypeReconnectingPTY ConnectionType = "reconnecting_pty" // the web terminal
	ConnectionTypeWorkspaceApp    ConnectionType = "workspace_app"
	ConnectionTypePortForwarding  ConnectionType = "port_forwarding"
)

// ConnectionTypes returns all values of ConnectionType.
func ConnectionTypes() []ConnectionType {
	return []ConnectionType{
		ConnectionTypeSSH, ConnectionTypeVSCode, ConnectionTypeJetBrains, ConnectionTypeReconnectingPTY, ConnectionTypeWorkspaceApp, ConnectionTypePortForwarding,
	}
}

// ConnectionTypeHeader is the request header in which a client that opens a
// tunnel states its purpose. A tunnel without the header counts as SSH.
const ConnectionTypeHeader = "Coder-Connection-Type"

// ConnectionLog is one connection to a workspace. (NET-15)
type ConnectionLog struct {
	ID                     uuid.UUID           `json:"id"`
	ConnectTime            time.Time           `json:"connect_time"`
	Organization           MinimalOrganization `json:"organization"`
	WorkspaceOwnerID       uuid.UUID           `json:"workspace_owner_id"`
	WorkspaceOwnerUsername string              `json:"workspace_owner_username"`
	WorkspaceID            uuid.UUID           `json:"workspace_id"`
	WorkspaceName          string              `json:"workspace_name"`
	AgentName              string              `json:"agent_name"`
	IP                     string              `json:"ip"`
	Type                   ConnectionType      `json:"type"`
	// SSHInfo is set for sessions, WebInfo for apps and ports.
	SSHInfo *ConnectionLogSSHInfo `json:"ssh_info,omitempty"`
	WebInfo *ConnectionLogWebInfo `json:"web_info,omitempty"`
}

// ConnectionLogSSHInfo describes a session.
type ConnectionLogSSHInfo struct {
	ConnectionID     uuid.UUID  `json:"connection_id"`
	DisconnectReason string     `json:"disconnect_reason,omitempty"`
	DisconnectTime   *time.Time `json:"disconnect_time,omitempty"` // nil while the session is open
	ExitCode         *int32     `json:"exit_code,omitempty"`       // nil if unknown
	User             *User      `json:"user,omitempty"`            // the connected user; an extension
	UserAgent        string     `json:"user_agent,omitempty"`      // an extension
}

// ConnectionLogWebInfo describes a request to an app or a port.
type ConnectionLogWebInfo struct {
	SlugOrPort string `json:"slug_or_port"`
	StatusCode int32  `json:"status_code"`
	User       *User  `json:"user"` // nil if the user was not signed in
	UserAgent  string `json:"user_agent"`
}

// ConnectionLogResponse is a page of the connection log.
type ConnectionLogResponse struct {
	ConnectionLogs []ConnectionLog `json:"connection_logs"`
	Count          int64           `json:"count"`
}
