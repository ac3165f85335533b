package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// Workspace is a development environment with a name, an owner, a template and its latest build.
type Workspace struct {
	AllowRenames                         bool                   `json:"allow_renames"`
	AutomaticUpdates                     AutomaticUpdates       `json:"automatic_updates"`
	AutostartSchedule                    *string                `json:"autostart_schedule,omitempty"`
	CreatedAt                            time.Time              `json:"created_at"`
	DeletingAt                           *time.Time             `json:"deleting_at"`
	DormantAt                            *time.Time             `json:"dormant_at"`
	Favorite                             bool                   `json:"favorite"`
	Health                               WorkspaceHealth        `json:"health"`
	ID                                   uuid.UUID              `json:"id"`
	IsPrebuild                           bool                   `json:"is_prebuild"`
	LastUsedAt                           time.Time              `json:"last_used_at"`
	LatestAppStatus                      *WorkspaceAppStatus    `json:"latest_app_status,omitempty"`
	LatestBuild                          WorkspaceBuild         `json:"latest_build"`
	Name                                 string                 `json:"name"`
	NextStartAt                          *time.Time             `json:"next_start_at"`
	OrganizationID                       uuid.UUID              `json:"organization_id"`
	OrganizationName                     string                 `json:"organization_name"`
	Outdated                             bool                   `json:"outdated"`
	OwnerAvatarURL                       string                 `json:"owner_avatar_url"`
	OwnerID                              uuid.UUID              `json:"owner_id"`
	OwnerName                            string                 `json:"owner_name"`
	SharedWith                           []SharedWorkspaceActor `json:"shared_with"`
	TaskID                               *uuid.UUID             `json:"task_id,omitzero"`
	TemplateActiveVersionID              uuid.UUID              `json:"template_active_version_id"`
	TemplateAllowUserCancelWorkspaceJobs bool                   `json:"template_allow_user_cancel_workspace_jobs"`
	TemplateDisplayName                  string                 `json:"template_display_name"`
	TemplateIcon                         string                 `json:"template_icon"`
	TemplateID                           uuid.UUID              `json:"template_id"`
	TemplateName                         string                 `json:"template_name"`
	TemplateRequireActiveVersion         bool                   `json:"template_require_active_version"`
	TemplateUseClassicParameterFlow      bool                   `json:"template_use_classic_parameter_flow"`
	TTLMS                                *int64                 `json:"ttl_ms,omitempty"`
	UpdatedAt                            time.Time              `json:"updated_at"`
}

// WorkspaceHealth is the combined health of a workspace's agents.
type WorkspaceHealth struct {
	FailingAgents []string `json:"failing_agents"`
	Healthy       bool     `json:"healthy"`
}

// WorkspaceStatus is the state of a workspace, derived from its latest build.
type WorkspaceStatus string

// Values of WorkspaceStatus.
const (
	WorkspaceStatusCanceled  WorkspaceStatus = "canceled"
	WorkspaceStatusCanceling WorkspaceStatus = "canceling"
	WorkspaceStatusDeleted   WorkspaceStatus = "deleted"
	WorkspaceStatusDeleting  WorkspaceStatus = "deleting"
	WorkspaceStatusFailed    WorkspaceStatus = "failed"
	WorkspaceStatusPending   WorkspaceStatus = "pending"
	WorkspaceStatusRunning   WorkspaceStatus = "running"
	WorkspaceStatusStarting  WorkspaceStatus = "starting"
	WorkspaceStatusStopped   WorkspaceStatus = "stopped"
	WorkspaceStatusStopping  WorkspaceStatus = "stopping"
)

// NewWorkspaceStatus derives the status of a workspace from the transition and the
// job of its latest build. (WS-04)
func NewWorkspaceStatus(transition WorkspaceTransition, job ProvisionerJobStatus) WorkspaceStatus {
	during, after := WorkspaceStatusStarting, WorkspaceStatusRunning
	switch transition {
	case WorkspaceTransitionStop:
		during, after = WorkspaceStatusStopping, WorkspaceStatusStopped
	case WorkspaceTransitionDelete:
		during, after = WorkspaceStatusDeleting, WorkspaceStatusDeleted
	}
	switch job {
	case ProvisionerJobStatusPending:
		return WorkspaceStatusPending
	case ProvisionerJobStatusRunning:
		return during
	case ProvisionerJobStatusSucceeded:
		return after
	case ProvisionerJobStatusCanceling:
		return WorkspaceStatusCanceling
	case ProvisionerJobStatusCanceled:
		return WorkspaceStatusCanceled
	}
	return WorkspaceStatusFailed
}

// NewWorkspaceHealth combines the health of the agents that the build of a workspace
// created. Agents of dev containers do not count. A workspace without agents is
// healthy. (WS-26)
func NewWorkspaceHealth(resources []WorkspaceResource) WorkspaceHealth {
	h := WorkspaceHealth{Healthy: true, FailingAgents: []string{}}
	for _, r := range resources {
		for _, a := range r.Agents {
			if !a.Health.Healthy && a.ParentID == nil {
				h.Healthy = false
				h.FailingAgents = append(h.FailingAgents, a.ID.String())
			}
		}
	}
	return h
}

// AutomaticUpdates selects whether a workspace is updated to the active version at each start.
type AutomaticUpdates string

// Values of AutomaticUpdates.
const (
	AutomaticUpdatesAlways AutomaticUpdates = "always"
	AutomaticUpdatesNever  AutomaticUpdates = "never"
)

// CreateWorkspaceRequest creates a workspace and its first build.
type CreateWorkspaceRequest struct {
	AutomaticUpdates        AutomaticUpdates          `json:"automatic_updates,omitempty"`
	AutostartSchedule       *string                   `json:"autostart_schedule,omitempty"`
	Name                    string                    `json:"name"`
	RichParameterValues     []WorkspaceBuildParameter `json:"rich_parameter_values,omitempty"`
	TemplateID              uuid.UUID                 `json:"template_id,omitzero"`
	TemplateVersionID       uuid.UUID                 `json:"template_version_id,omitzero"`
	TemplateVersionPresetID *uuid.UUID                `json:"template_version_preset_id,omitzero"`
	TTLMS                   *int64                    `json:"ttl_ms,omitempty"`
}

// UpdateWorkspaceRequest renames a workspace.
type UpdateWorkspaceRequest struct {
	Name string `json:"name,omitempty"`
}

// UpdateWorkspaceAutostartRequest sets the autostart schedule of a workspace.
type UpdateWorkspaceAutostartRequest struct {
	Schedule *string `json:"schedule,omitempty"`
}

// UpdateWorkspaceTTLRequest sets the autostop time of a workspace, in milliseconds.
type UpdateWorkspaceTTLRequest struct {
	TTLMS *int64 `json:"ttl_ms,omitempty"`
}

// UpdateWorkspaceAutomaticUpdatesRequest sets whether a workspace is updated at each start.
type UpdateWorkspaceAutomaticUpdatesRequest struct {
	AutomaticUpdates AutomaticUpdates `json:"automatic_updates,omitempty"`
}

// UpdateWorkspaceDormancy makes a workspace dormant, or activates it again.
type UpdateWorkspaceDormancy struct {
	Dormant bool `json:"dormant"`
}

// PutExtendWorkspaceRequest changes the autostop deadline of a running workspace.
type PutExtendWorkspaceRequest struct {
	Deadline *time.Time `json:"deadline"`
}

// PostWorkspaceUsageRequest reports that a workspace is in use.
type PostWorkspaceUsageRequest struct {
	AgentID uuid.UUID `json:"agent_id,omitzero"`
	AppName string    `json:"app_name,omitempty"`
}

// WorkspacesResponse is a page of workspaces and the count of all matching workspaces.
type WorkspacesResponse struct {
	Count      int         `json:"count"`
	Workspaces []Workspace `json:"workspaces"`
	// Counts by the filters of the list; returned only on request.
	Counts []WorkspaceCount `json:"counts,omitempty"`
	// What the caller can do with each workspace, by ID; returned only on request.
	Rights map[uuid.UUID][]RBACAction `json:"rights,omitempty"`
}

// WorkspaceCount is the number of workspaces with a combination of properties. The properties
// are those that the list can be filtered by.
type WorkspaceCount struct {
	Status       WorkspaceStatus `json:"status"`
	TemplateName string          `json:"template_name"`
	Outdated     bool            `json:"outdated"`
	Dormant      bool            `json:"dormant"`
	// Running, with an agent that failed.
	Unhealthy bool `json:"unhealthy"`
	Count     int  `json:"count"`
}

// ResolveAutostartResponse reports whether changed parameters prevent an autostart.
type ResolveAutostartResponse struct {
	ParameterMismatch bool `json:"parameter_mismatch"`
}

// ExternalAgentCredentials are the credentials for an agent on a machine that no
// build created.
type ExternalAgentCredentials struct {
	AgentToken string `json:"agent_token"`
	Command    string `json:"command"`
}

// SharedWorkspaceActor is a user or group that a workspace is shared with.
type SharedWorkspaceActor struct {
	ActorType SharedWorkspaceActorType `json:"actor_type"`
	AvatarURL string                   `json:"avatar_url"`
	ID        uuid.UUID                `json:"id"`
	Name      string                   `json:"name"`
	Roles     []WorkspaceRole          `json:"roles"`
}

// SharedWorkspaceActorType is the kind of a SharedWorkspaceActor: user or group.
type SharedWorkspaceActorType string

// Values of SharedWorkspaceActorType.
const (
	SharedWorkspaceActorTypeGroup SharedWorkspaceActorType = "group"
	SharedWorkspaceActorTypeUser  SharedWorkspaceActorType = "user"
)

// WorkspaceRole is the role of a user or group on a shared workspace.
type WorkspaceRole string

// Values of WorkspaceRole.
const (
	WorkspaceRoleDefault WorkspaceRole = ""
	WorkspaceRoleAdmin   WorkspaceRole = "admin"
	WorkspaceRoleUse     WorkspaceRole = "use"
)
