package codersdk

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// WorkspaceBuild is one start, stop or delete of a workspace.
type WorkspaceBuild struct {
	BuildNumber             int32                `json:"build_number"`
	CreatedAt               time.Time            `json:"created_at"`
	DailyCost               int32                `json:"daily_cost"`
	Deadline                *time.Time           `json:"deadline"`
	HasAITask               bool                 `json:"has_ai_task"`
	HasExternalAgent        bool                 `json:"has_external_agent"`
	ID                      uuid.UUID            `json:"id"`
	InitiatorID             uuid.UUID            `json:"initiator_id"`
	InitiatorName           string               `json:"initiator_name"`
	Job                     ProvisionerJob       `json:"job"`
	MatchedProvisioners     *MatchedProvisioners `json:"matched_provisioners,omitempty"`
	MaxDeadline             *time.Time           `json:"max_deadline"`
	ProvisionerWarning      string               `json:"provisioner_warning,omitempty"` // why no connected provisioner can run a pending build, and what to do
	Reason                  BuildReason          `json:"reason"`
	Resources               []WorkspaceResource  `json:"resources"`
	Status                  WorkspaceStatus      `json:"status"`
	TemplateVersionID       uuid.UUID            `json:"template_version_id"`
	TemplateVersionName     string               `json:"template_version_name"`
	TemplateVersionPresetID *uuid.UUID           `json:"template_version_preset_id,omitzero"`
	Transition              WorkspaceTransition  `json:"transition"`
	UpdatedAt               time.Time            `json:"updated_at"`
	WorkspaceID             uuid.UUID            `json:"workspace_id"`
	WorkspaceName           string               `json:"workspace_name"`
	WorkspaceOwnerAvatarURL string               `json:"workspace_owner_avatar_url"`
	WorkspaceOwnerID        uuid.UUID            `json:"workspace_owner_id"`
	WorkspaceOwnerName      string               `json:"workspace_owner_name"`
}

// WorkspaceTransition is the effect of a build on its workspace.
type WorkspaceTransition string

// Values of WorkspaceTransition.
const (
	WorkspaceTransitionDelete WorkspaceTransition = "delete"
	WorkspaceTransitionStart  WorkspaceTransition = "start"
	WorkspaceTransitionStop   WorkspaceTransition = "stop"
)

// BuildReason is the cause of a build: a user, a schedule or a policy.
type BuildReason string

// Values of BuildReason.
const (
	BuildReasonAutostart           BuildReason = "autostart"
	BuildReasonAutostop            BuildReason = "autostop"
	BuildReasonCLI                 BuildReason = "cli"
	BuildReasonDashboard           BuildReason = "dashboard"
	BuildReasonDormancy            BuildReason = "dormancy"
	BuildReasonInitiator           BuildReason = "initiator"
	BuildReasonJetbrainsConnection BuildReason = "jetbrains_connection"
	BuildReasonSSHConnection       BuildReason = "ssh_connection"
	BuildReasonVSCodeConnection    BuildReason = "vscode_connection"
)

// CreateWorkspaceBuildReason is a build reason that a client may set.
type CreateWorkspaceBuildReason string

// Values of CreateWorkspaceBuildReason.
const (
	CreateWorkspaceBuildReasonCLI                 CreateWorkspaceBuildReason = "cli"
	CreateWorkspaceBuildReasonDashboard           CreateWorkspaceBuildReason = "dashboard"
	CreateWorkspaceBuildReasonJetbrainsConnection CreateWorkspaceBuildReason = "jetbrains_connection"
	CreateWorkspaceBuildReasonSSHConnection       CreateWorkspaceBuildReason = "ssh_connection"
	CreateWorkspaceBuildReasonTaskManualPause     CreateWorkspaceBuildReason = "task_manual_pause"
	CreateWorkspaceBuildReasonVSCodeConnection    CreateWorkspaceBuildReason = "vscode_connection"
)

// CreateWorkspaceBuildRequest creates a build.
type CreateWorkspaceBuildRequest struct {
	DryRun                  bool                       `json:"dry_run"`
	LogLevel                ProvisionerLogLevel        `json:"log_level,omitempty"`
	OnSuccess               *WorkspaceBuildOnSuccess   `json:"on_success,omitempty"`
	Orphan                  bool                       `json:"orphan"`
	Reason                  CreateWorkspaceBuildReason `json:"reason,omitempty"`
	RichParameterValues     []WorkspaceBuildParameter  `json:"rich_parameter_values,omitempty"`
	State                   []byte                     `json:"state,omitempty"`
	TemplateVersionID       uuid.UUID                  `json:"template_version_id,omitzero"`
	TemplateVersionPresetID *uuid.UUID                 `json:"template_version_preset_id,omitzero"`
	Transition              WorkspaceTransition        `json:"transition"`
}

// WorkspaceBuildOnSuccess is the start that follows a stop once the stop succeeded.
// If version and parameters are absent, the start uses the defaults of any start.
// In JSON the string "start" is short for an object with that transition alone.
type WorkspaceBuildOnSuccess struct {
	LogLevel                ProvisionerLogLevel        `json:"log_level,omitempty"`
	Reason                  CreateWorkspaceBuildReason `json:"reason,omitempty"` // default: the reason of the stop
	RichParameterValues     []WorkspaceBuildParameter  `json:"rich_parameter_values,omitempty"`
	TemplateVersionID       uuid.UUID                  `json:"template_version_id,omitzero"`
	TemplateVersionPresetID *uuid.UUID                 `json:"template_version_preset_id,omitzero"`
	Transition              WorkspaceTransition        `json:"transition,omitempty"` // start, the default

	none bool // no start follows
}

// None reports whether no start follows the stop.
func (o *WorkspaceBuildOnSuccess) None() bool { return o == nil || o.none }

// UnmarshalJSON reads an object, or the transition alone. An empty string is the same as no value.
func (o *WorkspaceBuildOnSuccess) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		o.none = string(b) == `""`
		return json.Unmarshal(b, &o.Transition)
	}
	type plain WorkspaceBuildOnSuccess
	return json.Unmarshal(b, (*plain)(o))
}

// Request returns the start as a build request; reason is the reason of the stop.
func (o *WorkspaceBuildOnSuccess) Request(reason CreateWorkspaceBuildReason) CreateWorkspaceBuildRequest {
	return CreateWorkspaceBuildRequest{
		Transition: cmp.Or(o.Transition, WorkspaceTransitionStart), TemplateVersionID: o.TemplateVersionID, TemplateVersionPresetID: o.TemplateVersionPresetID,
		RichParameterValues: o.RichParameterValues, Reason: cmp.Or(o.Reason, reason), LogLevel: o.LogLevel,
	}
}

// UpdateWorkspaceBuildStateRequest replaces the Terraform state of a build.
type UpdateWorkspaceBuildStateRequest struct {
	State []byte `json:"state,omitempty"`
}

// WorkspaceBuildTimings is the timeline of a build.
type WorkspaceBuildTimings struct {
	AgentConnectionTimings []AgentConnectionTiming `json:"agent_connection_timings"`
	AgentScriptTimings     []AgentScriptTiming     `json:"agent_script_timings"`
	ProvisionerTimings     []ProvisionerTiming     `json:"provisioner_timings"`
}

// ProvisionerTiming is the duration of one step of a job.
type ProvisionerTiming struct {
	Action    string      `json:"action"`
	EndedAt   time.Time   `json:"ended_at"`
	JobID     uuid.UUID   `json:"job_id"`
	Resource  string      `json:"resource"`
	Source    string      `json:"source"`
	Stage     TimingStage `json:"stage"`
	StartedAt time.Time   `json:"started_at"`
}

// AgentScriptTiming is the duration of one script of an agent.
type AgentScriptTiming struct {
	DisplayName        string      `json:"display_name"`
	EndedAt            time.Time   `json:"ended_at"`
	ExitCode           int64       `json:"exit_code"`
	Stage              TimingStage `json:"stage"`
	StartedAt          time.Time   `json:"started_at"`
	Status             string      `json:"status"`
	WorkspaceAgentID   uuid.UUID   `json:"workspace_agent_id"`
	WorkspaceAgentName string      `json:"workspace_agent_name"`
}

// AgentConnectionTiming is the time between an agent's start and its connection.
type AgentConnectionTiming struct {
	EndedAt            time.Time   `json:"ended_at"`
	Stage              TimingStage `json:"stage"`
	StartedAt          time.Time   `json:"started_at"`
	WorkspaceAgentID   uuid.UUID   `json:"workspace_agent_id"`
	WorkspaceAgentName string      `json:"workspace_agent_name"`
}

// TimingStage is a step of a build.
type TimingStage string

// Values of TimingStage.
const (
	TimingStageApply   TimingStage = "apply"
	TimingStageConnect TimingStage = "connect"
	TimingStageCron    TimingStage = "cron"
	TimingStageGraph   TimingStage = "graph"
	TimingStageInit    TimingStage = "init"
	TimingStagePlan    TimingStage = "plan"
	TimingStageStart   TimingStage = "start"
	TimingStageStop    TimingStage = "stop"
)

// WorkspaceResource is a resource that a build created, with the agents in it.
type WorkspaceResource struct {
	Agents              []WorkspaceAgent            `json:"agents"`
	CreatedAt           time.Time                   `json:"created_at"`
	DailyCost           int32                       `json:"daily_cost"`
	Hide                bool                        `json:"hide"`
	Icon                string                      `json:"icon"`
	ID                  uuid.UUID                   `json:"id"`
	JobID               uuid.UUID                   `json:"job_id"`
	Metadata            []WorkspaceResourceMetadata `json:"metadata"`
	Name                string                      `json:"name"`
	Type                string                      `json:"type"`
	WorkspaceTransition WorkspaceTransition         `json:"workspace_transition"`
}

// WorkspaceResourceMetadata is a value shown beside a resource.
type WorkspaceResourceMetadata struct {
	Key       string `json:"key"`
	Sensitive bool   `json:"sensitive"`
	Value     string `json:"value"`
}
