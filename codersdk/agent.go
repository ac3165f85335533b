package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// WorkspaceAgent is the process in a workspace that clients connect to.
type WorkspaceAgent struct {
	APIVersion               string                              `json:"api_version"`
	Apps                     []WorkspaceApp                      `json:"apps"`
	Architecture             string                              `json:"architecture"`
	ConnectionTimeoutSeconds int32                               `json:"connection_timeout_seconds"`
	CreatedAt                time.Time                           `json:"created_at"`
	Directory                string                              `json:"directory"`
	DisconnectedAt           *time.Time                          `json:"disconnected_at,omitempty"`
	DisplayApps              []DisplayApp                        `json:"display_apps"`
	EnvironmentVariables     map[string]string                   `json:"environment_variables"`
	ExpandedDirectory        string                              `json:"expanded_directory"`
	FirstConnectedAt         *time.Time                          `json:"first_connected_at,omitempty"`
	Health                   WorkspaceAgentHealth                `json:"health"`
	ID                       uuid.UUID                           `json:"id"`
	InstanceID               string                              `json:"instance_id"`
	LastConnectedAt          *time.Time                          `json:"last_connected_at,omitempty"`
	Latency                  map[string]DERPRegion               `json:"latency"`
	LifecycleState           WorkspaceAgentLifecycle             `json:"lifecycle_state"`
	LogSources               []WorkspaceAgentLogSource           `json:"log_sources"`
	LogsLength               int32                               `json:"logs_length"`
	LogsOverflowed           bool                                `json:"logs_overflowed"`
	Name                     string                              `json:"name"`
	OperatingSystem          string                              `json:"operating_system"`
	ParentID                 *uuid.UUID                          `json:"parent_id,omitzero"`
	ReadyAt                  *time.Time                          `json:"ready_at"`
	ResourceMonitors         []WorkspaceAgentMonitor             `json:"resource_monitors,omitempty"`
	ResourceID               uuid.UUID                           `json:"resource_id"`
	Scripts                  []WorkspaceAgentScript              `json:"scripts"`
	StartedAt                *time.Time                          `json:"started_at,omitempty"`
	StartupScriptBehavior    WorkspaceAgentStartupScriptBehavior `json:"startup_script_behavior"`
	Status                   WorkspaceAgentStatus                `json:"status"`
	Subsystems               []AgentSubsystem                    `json:"subsystems"`
	TroubleshootingURL       string                              `json:"troubleshooting_url"`
	UpdatedAt                time.Time                           `json:"updated_at"`
	Version                  string                              `json:"version"`
}

// WorkspaceAgentStatus is the state of the connection between an agent and the server.
type WorkspaceAgentStatus string

// Values of WorkspaceAgentStatus.
const (
	WorkspaceAgentStatusConnected    WorkspaceAgentStatus = "connected"
	WorkspaceAgentStatusConnecting   WorkspaceAgentStatus = "connecting"
	WorkspaceAgentStatusDisconnected WorkspaceAgentStatus = "disconnected"
	WorkspaceAgentStatusTimeout      WorkspaceAgentStatus = "timeout"
)

// AgentInactiveTimeout is the age of the last heartbeat from which on an agent
// counts as disconnected. The server that holds the connection detects a silent
// agent within 20 seconds and refreshes LastConnected every ten seconds. (AG-04)
const AgentInactiveTimeout = 25 * time.Second

// AgentTimes are the facts from which AgentStatus derives the status.
type AgentTimes struct {
	Created           time.Time
	FirstConnected    *time.Time
	LastConnected     *time.Time // the last heartbeat
	Disconnected      *time.Time // the last orderly disconnect
	ConnectionTimeout time.Duration
}

// AgentStatus derives the status of an agent. Before its first connection an
// agent is connecting, or timed out once ConnectionTimeout has passed (0: never).
// Afterwards it is connected while its heartbeats are recent, else
// disconnected. (AG-04)
func AgentStatus(now time.Time, t AgentTimes) WorkspaceAgentStatus {
	switch {
	case t.FirstConnected == nil && t.ConnectionTimeout > 0 && now.Sub(t.Created) > t.ConnectionTimeout:
		return WorkspaceAgentStatusTimeout
	case t.FirstConnected == nil:
		return WorkspaceAgentStatusConnecting
	case t.LastConnected == nil, t.Disconnected != nil && t.Disconnected.After(*t.LastConnected):
		return WorkspaceAgentStatusDisconnected
	case now.Sub(*t.LastConnected) > AgentInactiveTimeout:
		return WorkspaceAgentStatusDisconnected
	}
	return WorkspaceAgentStatusConnected
}

// AgentHealth derives the health of an agent. An agent is unhealthy when it did
// not connect in time, lost its connection, failed or exceeded the time of a
// start script, or has shut down. (WS-26)
func AgentHealth(status WorkspaceAgentStatus, lifecycle WorkspaceAgentLifecycle) WorkspaceAgentHealth {
	reason := ""
	switch {
	case status == WorkspaceAgentStatusTimeout:
		reason = "the agent did not connect in time"
	case lifecycle == WorkspaceAgentLifecycleOff && status != WorkspaceAgentStatusConnected:
		reason = "the agent has shut down"
	case status == WorkspaceAgentStatusDisconnected:
		reason = "the agent has lost its connection"
	case lifecycle == WorkspaceAgentLifecycleStartError:
		reason = "a start script failed"
	case lifecycle == WorkspaceAgentLifecycleStartTimeout:
		reason = "a start script did not finish in time"
	}
	return WorkspaceAgentHealth{Healthy: reason == "", Reason: reason}
}

// WorkspaceAgentLifecycle is the state of an agent's start or shutdown.
type WorkspaceAgentLifecycle string

// Values of WorkspaceAgentLifecycle.
const (
	WorkspaceAgentLifecycleCreated         WorkspaceAgentLifecycle = "created"
	WorkspaceAgentLifecycleOff             WorkspaceAgentLifecycle = "off"
	WorkspaceAgentLifecycleReady           WorkspaceAgentLifecycle = "ready"
	WorkspaceAgentLifecycleShutdownError   WorkspaceAgentLifecycle = "shutdown_error"
	WorkspaceAgentLifecycleShutdownTimeout WorkspaceAgentLifecycle = "shutdown_timeout"
	WorkspaceAgentLifecycleShuttingDown    WorkspaceAgentLifecycle = "shutting_down"
	WorkspaceAgentLifecycleStartError      WorkspaceAgentLifecycle = "start_error"
	WorkspaceAgentLifecycleStartTimeout    WorkspaceAgentLifecycle = "start_timeout"
	WorkspaceAgentLifecycleStarting        WorkspaceAgentLifecycle = "starting"
)

// Next returns the states that an agent may report after l, or nil when l is
// unknown. Reporting the same state again is always allowed, because an agent
// repeats reports that it cannot know to have arrived. Starting may follow any
// state, because the agent's process may be killed and started again. (AG-05)
func (l WorkspaceAgentLifecycle) Next() []WorkspaceAgentLifecycle {
	const (
		off          = WorkspaceAgentLifecycleOff
		shuttingDown = WorkspaceAgentLifecycleShuttingDown
		starting     = WorkspaceAgentLifecycleStarting
	)
	switch l {
	case WorkspaceAgentLifecycleCreated:
		return []WorkspaceAgentLifecycle{starting, shuttingDown, off}
	case starting:
		return []WorkspaceAgentLifecycle{WorkspaceAgentLifecycleStartTimeout, WorkspaceAgentLifecycleStartError, WorkspaceAgentLifecycleReady, shuttingDown, off}
	case WorkspaceAgentLifecycleStartTimeout:
		return []WorkspaceAgentLifecycle{WorkspaceAgentLifecycleStartError, WorkspaceAgentLifecycleReady, shuttingDown, off, starting}
	case WorkspaceAgentLifecycleStartError, WorkspaceAgentLifecycleReady:
		return []WorkspaceAgentLifecycle{shuttingDown, off, starting}
	case shuttingDown:
		return []WorkspaceAgentLifecycle{WorkspaceAgentLifecycleShutdownTimeout, WorkspaceAgentLifecycleShutdownError, off, starting}
	case WorkspaceAgentLifecycleShutdownTimeout:
		return []WorkspaceAgentLifecycle{WorkspaceAgentLifecycleShutdownError, off, starting}
	case WorkspaceAgentLifecycleShutdownError:
		return []WorkspaceAgentLifecycle{off, starting}
	case off:
		return []WorkspaceAgentLifecycle{starting}
	}
	return nil
}

// WorkspaceAgentHealth is the health of an agent; Reason is empty when it is healthy.
type WorkspaceAgentHealth struct {
	Healthy bool   `json:"healthy"`
	Reason  string `json:"reason"`
}

// WorkspaceAgentStartupScriptBehavior selects whether sessions wait for start scripts.
type WorkspaceAgentStartupScriptBehavior string

// Values of WorkspaceAgentStartupScriptBehavior.
const (
	WorkspaceAgentStartupScriptBehaviorBlocking    WorkspaceAgentStartupScriptBehavior = "blocking"
	WorkspaceAgentStartupScriptBehaviorNonBlocking WorkspaceAgentStartupScriptBehavior = "non-blocking"
)

// WorkspaceAgentLog is a line of an agent's log.
type WorkspaceAgentLog struct {
	CreatedAt time.Time `json:"created_at"`
	ID        int64     `json:"id"`
	Level     LogLevel  `json:"level"`
	Output    string    `json:"output"`
	SourceID  uuid.UUID `json:"source_id"`
}

// WorkspaceAgentLogSource is a source of log lines of an agent, such as a script.
type WorkspaceAgentLogSource struct {
	CreatedAt        time.Time `json:"created_at"`
	DisplayName      string    `json:"display_name"`
	Icon             string    `json:"icon"`
	ID               uuid.UUID `json:"id"`
	WorkspaceAgentID uuid.UUID `json:"workspace_agent_id"`
}

// WorkspaceAgentScript is a script that an agent runs.
type WorkspaceAgentScript struct {
	Cron             string        `json:"cron"`
	DisplayName      string        `json:"display_name"`
	ID               uuid.UUID     `json:"id"`
	LogPath          string        `json:"log_path"`
	LogSourceID      uuid.UUID     `json:"log_source_id"`
	RunOnStart       bool          `json:"run_on_start"`
	RunOnStop        bool          `json:"run_on_stop"`
	Script           string        `json:"script"`
	StartBlocksLogin bool          `json:"start_blocks_login"`
	Timeout          time.Duration `json:"timeout"`
}

// WorkspaceAgentMetadataDescription declares how an agent collects one metadata
// value. Interval and timeout are in seconds. (AG-15)
type WorkspaceAgentMetadataDescription struct {
	DisplayName string `json:"display_name"`
	Interval    int64  `json:"interval"`
	Key         string `json:"key"`
	Script      string `json:"script"`
	Timeout     int64  `json:"timeout"`
}

// WorkspaceAgentMetadataResult is the value collected last. Age is in seconds.
type WorkspaceAgentMetadataResult struct {
	Age         int64     `json:"age"`
	CollectedAt time.Time `json:"collected_at"`
	Error       string    `json:"error"`
	Value       string    `json:"value"`
}

// WorkspaceAgentMetadata is a metadata value and its declaration.
type WorkspaceAgentMetadata struct {
	Description WorkspaceAgentMetadataDescription `json:"description"`
	Result      WorkspaceAgentMetadataResult      `json:"result"`
}

// AgentSubsystem is an environment that an agent runs inside of, such as envbox.
type AgentSubsystem string

// Values of AgentSubsystem.
const (
	AgentSubsystemEnvbox     AgentSubsystem = "envbox"
	AgentSubsystemEnvbuilder AgentSubsystem = "envbuilder"
	AgentSubsystemExectrace  AgentSubsystem = "exectrace"
)

// DisplayApp is a built-in way to connect to a workspace that the dashboard shows.
type DisplayApp string

// Values of DisplayApp.
const (
	DisplayAppPortForwardingHelper DisplayApp = "port_forwarding_helper"
	DisplayAppSSHHelper            DisplayApp = "ssh_helper"
	DisplayAppVSCode               DisplayApp = "vscode"
	DisplayAppVSCodeInsiders       DisplayApp = "vscode_insiders"
	DisplayAppWebTerminal          DisplayApp = "web_terminal"
)

// WorkspaceAgentListeningPort is a port on which a process in a workspace listens.
type WorkspaceAgentListeningPort struct {
	Network     string `json:"network"`
	Port        int32  `json:"port"`
	ProcessName string `json:"process_name"`
}

// WorkspaceAgentListeningPortsResponse lists the listening ports of a workspace.
type WorkspaceAgentListeningPortsResponse struct {
	Ports []WorkspaceAgentListeningPort `json:"ports"`
}

// DERPRegion is the latency from an agent to one relay region.
type DERPRegion struct {
	LatencyMS float64 `json:"latency_ms"`
	Preferred bool    `json:"preferred"`
}
