package coder

import (
	"time"

	"github.com/google/uuid"
)

// WorkspaceAgent is the process in a workspace that serves its developer.
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

// WorkspaceAgentStatus says whether an agent is reachable.
type WorkspaceAgentStatus string

// Values of WorkspaceAgentStatus.
const (
	WorkspaceAgentStatusConnected    WorkspaceAgentStatus = "connected"
	WorkspaceAgentStatusConnecting   WorkspaceAgentStatus = "connecting"
	WorkspaceAgentStatusDisconnected WorkspaceAgentStatus = "disconnected"
	WorkspaceAgentStatusTimeout      WorkspaceAgentStatus = "timeout"
)

// AgentInactiveTimeout is how long nothing may be known of an agent before it
// counts as disconnected: its server, which notices within 20 seconds that an
// agent is silent, tells every ten that it lives. (AG-04)
const AgentInactiveTimeout = 25 * time.Second

// AgentTimes are the facts that an agent's status follows from.
type AgentTimes struct {
	Created           time.Time
	FirstConnected    *time.Time
	LastConnected     *time.Time // the last sign of life
	Disconnected      *time.Time // the last orderly end of a connection
	ConnectionTimeout time.Duration
}

// AgentStatus derives whether an agent is reachable: connecting until it was
// there once, or timeout when that takes longer than allowed (0: for ever);
// then connected while it gives signs of life, else disconnected. (AG-04)
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

// AgentHealth says whether an agent does well: it does not when it never came,
// was lost, failed its start, or has shut down. (WS-26)
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
		reason = "a start script did not end in time"
	}
	return WorkspaceAgentHealth{Healthy: reason == "", Reason: reason}
}

// WorkspaceAgentLifecycle is how far an agent's start or stop has come.
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

// Next is the state table of an agent's life: the states that it may report
// after l; nil for a state that there is none of. Every state may be reported
// again, because an agent repeats what it does not know to have arrived; and
// from every state it may begin anew, when its process was killed and started
// again. (AG-05)
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

// WorkspaceAgentHealth says whether an agent does well, and why not.
type WorkspaceAgentHealth struct {
	Healthy bool   `json:"healthy"`
	Reason  string `json:"reason"`
}

// WorkspaceAgentStartupScriptBehavior says whether logins wait for start scripts.
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

// WorkspaceAgentLogSource is what wrote a line of an agent's log.
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

// WorkspaceAgentMetadataDescription says how an agent collects one fact about
// its workspace. Interval and timeout are in seconds. (AG-15)
type WorkspaceAgentMetadataDescription struct {
	DisplayName string `json:"display_name"`
	Interval    int64  `json:"interval"`
	Key         string `json:"key"`
	Script      string `json:"script"`
	Timeout     int64  `json:"timeout"`
}

// WorkspaceAgentMetadataResult is what was collected last. Age is in seconds.
type WorkspaceAgentMetadataResult struct {
	Age         int64     `json:"age"`
	CollectedAt time.Time `json:"collected_at"`
	Error       string    `json:"error"`
	Value       string    `json:"value"`
}

// WorkspaceAgentMetadata is a fact about a workspace and how it is collected.
type WorkspaceAgentMetadata struct {
	Description WorkspaceAgentMetadataDescription `json:"description"`
	Result      WorkspaceAgentMetadataResult      `json:"result"`
}

// AgentSubsystem is what else an agent runs inside of.
type AgentSubsystem string

// Values of AgentSubsystem.
const (
	AgentSubsystemEnvbox     AgentSubsystem = "envbox"
	AgentSubsystemEnvbuilder AgentSubsystem = "envbuilder"
	AgentSubsystemExectrace  AgentSubsystem = "exectrace"
)

// DisplayApp is a built-in way into a workspace that the dashboard shows.
type DisplayApp string

// Values of DisplayApp.
const (
	DisplayAppPortForwardingHelper DisplayApp = "port_forwarding_helper"
	DisplayAppSSHHelper            DisplayApp = "ssh_helper"
	DisplayAppVSCode               DisplayApp = "vscode"
	DisplayAppVSCodeInsiders       DisplayApp = "vscode_insiders"
	DisplayAppWebTerminal          DisplayApp = "web_terminal"
)

// WorkspaceAgentListeningPort is a port that something in a workspace listens on.
type WorkspaceAgentListeningPort struct {
	Network     string `json:"network"`
	Port        int32  `json:"port"`
	ProcessName string `json:"process_name"`
}

// WorkspaceAgentListeningPortsResponse lists the ports that are listened on.
type WorkspaceAgentListeningPortsResponse struct {
	Ports []WorkspaceAgentListeningPort `json:"ports"`
}

// DERPRegion is the latency from an agent to one relay region.
type DERPRegion struct {
	LatencyMS float64 `json:"latency_ms"`
	Preferred bool    `json:"preferred"`
}
