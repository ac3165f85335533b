package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// Template is the blueprint of workspaces. New workspaces use its active version.
type Template struct {
	ActiveUserCount              int                          `json:"active_user_count"`
	ActiveVersionID              uuid.UUID                    `json:"active_version_id"`
	ActivityBumpMS               int64                        `json:"activity_bump_ms"`
	AllowUserAutostart           bool                         `json:"allow_user_autostart"`
	AllowUserAutostop            bool                         `json:"allow_user_autostop"`
	AllowUserCancelWorkspaceJobs bool                         `json:"allow_user_cancel_workspace_jobs"`
	AutostartRequirement         TemplateAutostartRequirement `json:"autostart_requirement"`
	AutostopRequirement          TemplateAutostopRequirement  `json:"autostop_requirement"`
	BuildTimeStats               TemplateBuildTimeStats       `json:"build_time_stats"`
	CORSBehavior                 CORSBehavior                 `json:"cors_behavior"`
	CreatedAt                    time.Time                    `json:"created_at"`
	CreatedByID                  uuid.UUID                    `json:"created_by_id"`
	CreatedByName                string                       `json:"created_by_name"`
	DefaultTTLMS                 int64                        `json:"default_ttl_ms"`
	Deprecated                   bool                         `json:"deprecated"`
	DeprecationMessage           string                       `json:"deprecation_message"`
	Description                  string                       `json:"description"`
	DisableModuleCache           bool                         `json:"disable_module_cache"`
	DisableUserSecrets           bool                         `json:"disable_user_secrets"` // workspaces get no user secrets
	DisplayName                  string                       `json:"display_name"`
	FailureTTLMS                 int64                        `json:"failure_ttl_ms"`
	Icon                         string                       `json:"icon"`
	ID                           uuid.UUID                    `json:"id"`
	// MaxConcurrentBuilds is the number of builds of its workspaces that can be queued
	// or running at once. Further builds are held back. 0 means no limit.
	MaxConcurrentBuilds     int32                        `json:"max_concurrent_builds"`
	MaxPortShareLevel       WorkspaceAgentPortShareLevel `json:"max_port_share_level"`
	Name                    string                       `json:"name"`
	OrganizationDisplayName string                       `json:"organization_display_name"`
	OrganizationIcon        string                       `json:"organization_icon"`
	OrganizationID          uuid.UUID                    `json:"organization_id"`
	OrganizationName        string                       `json:"organization_name"`
	// PrebuildBudget is the largest number of prebuilt workspaces that the template keeps by
	// demand, at most [MaxPrebuilds]. 0 keeps what its presets define.
	PrebuildBudget             int32     `json:"prebuild_budget"`
	Provisioner                string    `json:"provisioner"`
	RequireActiveVersion       bool      `json:"require_active_version"`
	TimeTilDormantAutodeleteMS int64     `json:"time_til_dormant_autodelete_ms"`
	TimeTilDormantMS           int64     `json:"time_til_dormant_ms"`
	UpdatedAt                  time.Time `json:"updated_at"`
	UseClassicParameterFlow    bool      `json:"use_classic_parameter_flow"`
}

// TemplateVersion is one uploaded version of a template's files, with the results of its import.
type TemplateVersion struct {
	Archived            bool                     `json:"archived"`
	CreatedAt           time.Time                `json:"created_at"`
	CreatedBy           MinimalUser              `json:"created_by"`
	HasExternalAgent    bool                     `json:"has_external_agent"`
	ID                  uuid.UUID                `json:"id"`
	Job                 ProvisionerJob           `json:"job"`
	MatchedProvisioners *MatchedProvisioners     `json:"matched_provisioners,omitempty"`
	Message             string                   `json:"message"`
	Name                string                   `json:"name"`
	OrganizationID      uuid.UUID                `json:"organization_id"`
	ProvisionerWarning  string                   `json:"provisioner_warning,omitempty"` // see WorkspaceBuild
	Readme              string                   `json:"readme"`
	TemplateID          uuid.UUID                `json:"template_id"`
	UpdatedAt           time.Time                `json:"updated_at"`
	Warnings            []TemplateVersionWarning `json:"warnings"`
}

// TemplateVersionWarning marks a version that uses deprecated features.
type TemplateVersionWarning string

// Values of TemplateVersionWarning.
const (
	TemplateVersionWarningUNSUPPORTEDWORKSPACES TemplateVersionWarning = "UNSUPPORTED_WORKSPACES"
)

// TemplateBuildTimeStats is the usual duration of builds by transition.
type TemplateBuildTimeStats map[string]TransitionStats

// TransitionStats is the median and the 95th percentile of the duration of one
// transition, in milliseconds; null without builds. Clients read capitalized field
// names.
type TransitionStats struct {
	P50 *int64 `json:"P50"`
	P95 *int64 `json:"P95"`
}

// TemplateAutostartRequirement is the days on which workspaces can start automatically.
type TemplateAutostartRequirement struct {
	DaysOfWeek []string `json:"days_of_week"`
}

// TemplateAutostopRequirement is the days on which workspaces must be stopped once.
type TemplateAutostopRequirement struct {
	DaysOfWeek []string `json:"days_of_week"`
	Weeks      int32    `json:"weeks"`
}

// CORSBehavior selects what answers cross-origin requests to apps.
type CORSBehavior string

// Values of CORSBehavior.
const (
	CORSBehaviorPassthru CORSBehavior = "passthru"
	CORSBehaviorSimple   CORSBehavior = "simple"
)

// CreateTemplateRequest creates a template from a version. Nil fields take their
// defaults: users can cancel jobs and set autostart and autostop, and activity
// extends a deadline by one hour.
type CreateTemplateRequest struct {
	ActivityBumpMS                  *int64                        `json:"activity_bump_ms,omitempty"`
	AllowUserAutostart              *bool                         `json:"allow_user_autostart,omitempty"`
	AllowUserAutostop               *bool                         `json:"allow_user_autostop,omitempty"`
	AllowUserCancelWorkspaceJobs    *bool                         `json:"allow_user_cancel_workspace_jobs,omitempty"`
	AutostartRequirement            *TemplateAutostartRequirement `json:"autostart_requirement,omitempty"`
	AutostopRequirement             *TemplateAutostopRequirement  `json:"autostop_requirement,omitempty"`
	CORSBehavior                    CORSBehavior                  `json:"cors_behavior,omitempty"`
	DefaultTTLMS                    int64                         `json:"default_ttl_ms,omitempty"`
	DeleteTTLMS                     int64                         `json:"delete_ttl_ms,omitempty"`
	Description                     string                        `json:"description,omitempty"`
	DisableEveryoneGroupAccess      bool                          `json:"disable_everyone_group_access"`
	DisplayName                     string                        `json:"display_name,omitempty"`
	DormantTTLMS                    int64                         `json:"dormant_ttl_ms,omitempty"`
	FailureTTLMS                    int64                         `json:"failure_ttl_ms,omitempty"`
	Icon                            string                        `json:"icon,omitempty"`
	MaxConcurrentBuilds             int32                         `json:"max_concurrent_builds,omitempty"` // see Template
	MaxPortShareLevel               WorkspaceAgentPortShareLevel  `json:"max_port_share_level,omitempty"`
	Name                            string                        `json:"name"`
	PrebuildBudget                  int32                         `json:"prebuild_budget,omitempty"` // see Template
	RequireActiveVersion            bool                          `json:"require_active_version"`
	TemplateUseClassicParameterFlow bool                          `json:"template_use_classic_parameter_flow"`
	TemplateVersionID               uuid.UUID                     `json:"template_version_id"`
}

// UpdateTemplateMeta changes the settings of a template. Nil fields and an empty
// Name keep their values.
type UpdateTemplateMeta struct {
	IfUnchanged
	ActivityBumpMS               *int64                        `json:"activity_bump_ms,omitempty"`
	AllowUserAutostart           *bool                         `json:"allow_user_autostart,omitempty"`
	AllowUserAutostop            *bool                         `json:"allow_user_autostop,omitempty"`
	AllowUserCancelWorkspaceJobs *bool                         `json:"allow_user_cancel_workspace_jobs,omitempty"`
	AutostartRequirement         *TemplateAutostartRequirement `json:"autostart_requirement,omitempty"`
	AutostopRequirement          *TemplateAutostopRequirement  `json:"autostop_requirement,omitempty"`
	CORSBehavior                 *CORSBehavior                 `json:"cors_behavior,omitempty"`
	DefaultTTLMS                 *int64                        `json:"default_ttl_ms,omitempty"`
	DeprecationMessage           *string                       `json:"deprecation_message,omitempty"`
	Description                  *string                       `json:"description,omitempty"`
	DisableEveryoneGroupAccess   *bool                         `json:"disable_everyone_group_access,omitempty"`
	DisableModuleCache           *bool                         `json:"disable_module_cache,omitempty"`
	DisableUserSecrets           *bool                         `json:"disable_user_secrets,omitempty"` // see Template
	DisplayName                  *string                       `json:"display_name,omitempty"`
	FailureTTLMS                 *int64                        `json:"failure_ttl_ms,omitempty"`
	Icon                         *string                       `json:"icon,omitempty"`
	MaxConcurrentBuilds          *int32                        `json:"max_concurrent_builds,omitempty"` // see Template
	MaxPortShareLevel            *WorkspaceAgentPortShareLevel `json:"max_port_share_level,omitempty"`
	Name                         string                        `json:"name,omitempty"`
	PrebuildBudget               *int32                        `json:"prebuild_budget,omitempty"` // see Template
	RequireActiveVersion         *bool                         `json:"require_active_version,omitempty"`
	TimeTilDormantAutodeleteMS   *int64                        `json:"time_til_dormant_autodelete_ms,omitempty"`
	TimeTilDormantMS             *int64                        `json:"time_til_dormant_ms,omitempty"`
	UpdateWorkspaceDormantAt     bool                          `json:"update_workspace_dormant_at,omitempty"`
	UpdateWorkspaceLastUsedAt    bool                          `json:"update_workspace_last_used_at,omitempty"`
	UseClassicParameterFlow      *bool                         `json:"use_classic_parameter_flow,omitempty"`
}

// UpdateActiveTemplateVersion sets the active version.
type UpdateActiveTemplateVersion struct {
	ID uuid.UUID `json:"id"`
	// IfActiveVersionID is the active version as the client read it. If another version
	// is active, the response is 412 and nothing is saved. Without it the request is
	// unconditional.
	IfActiveVersionID *uuid.UUID `json:"if_active_version_id,omitempty"`
}

// PatchTemplateVersionRequest renames a version or changes its message.
type PatchTemplateVersionRequest struct {
	IfUnchanged
	Message *string `json:"message,omitempty"` // nil keeps the message
	Name    string  `json:"name,omitempty"`
}

// ArchiveTemplateVersionsRequest archives unused versions: all, or the failed ones.
type ArchiveTemplateVersionsRequest struct {
	All bool `json:"all"`
}

// CreateTemplateVersionRequest creates a version from an uploaded file or an example.
type CreateTemplateVersionRequest struct {
	ExampleID          string                   `json:"example_id,omitempty"`
	FileID             uuid.UUID                `json:"file_id,omitzero"`
	Message            string                   `json:"message,omitempty"`
	Name               string                   `json:"name,omitempty"`
	Provisioner        string                   `json:"provisioner"`
	StorageMethod      ProvisionerStorageMethod `json:"storage_method"`
	Tags               map[string]string        `json:"tags,omitempty"`
	TemplateID         uuid.UUID                `json:"template_id,omitzero"`
	UserVariableValues []VariableValue          `json:"user_variable_values,omitempty"`
}

// CreateTemplateVersionDryRunRequest requests a plan of the resources of a workspace.
type CreateTemplateVersionDryRunRequest struct {
	RichParameterValues []WorkspaceBuildParameter `json:"rich_parameter_values,omitempty"`
	UserVariableValues  []VariableValue           `json:"user_variable_values,omitempty"`
	WorkspaceName       string                    `json:"workspace_name,omitempty"`
}

// ProvisionerStorageMethod is where the source of a version is stored.
type ProvisionerStorageMethod string

// Values of ProvisionerStorageMethod.
const (
	ProvisionerStorageMethodFile ProvisionerStorageMethod = "file"
)

// TemplateExample is a starter template that is included in the server.
type TemplateExample struct {
	Description string   `json:"description"`
	Icon        string   `json:"icon"`
	ID          string   `json:"id"`
	Markdown    string   `json:"markdown"`
	Name        string   `json:"name"`
	Tags        []string `json:"tags"`
	URL         string   `json:"url"`
}

// TemplateVersionExternalAuth is an external authentication that a version requires
// of the workspace's owner.
type TemplateVersionExternalAuth struct {
	AuthenticateURL string `json:"authenticate_url"`
	Authenticated   bool   `json:"authenticated"`
	DisplayIcon     string `json:"display_icon"`
	DisplayName     string `json:"display_name"`
	ID              string `json:"id"`
	Optional        bool   `json:"optional"`
	Type            string `json:"type"`
}

// TemplateACL lists the users and groups that can use or administer a template.
type TemplateACL struct {
	Group []TemplateGroup `json:"group"`
	Users []TemplateUser  `json:"users"`
}

// TemplateUser is a user in a template's access list.
type TemplateUser struct {
	AvatarURL       string       `json:"avatar_url"`
	CreatedAt       time.Time    `json:"created_at"`
	Email           string       `json:"email"`
	ID              uuid.UUID    `json:"id"`
	LastSeenAt      *time.Time   `json:"last_seen_at,omitempty"`
	LoginType       LoginType    `json:"login_type"`
	Name            string       `json:"name"`
	OrganizationIDs []uuid.UUID  `json:"organization_ids"`
	Role            TemplateRole `json:"role"`
	Roles           []SlimRole   `json:"roles"`
	Status          UserStatus   `json:"status"`
	ThemePreference string       `json:"theme_preference"`
	UpdatedAt       time.Time    `json:"updated_at"`
	Username        string       `json:"username"`
}

// TemplateGroup is a group in a template's access list.
type TemplateGroup struct {
	AvatarURL               string        `json:"avatar_url"`
	DisplayName             string        `json:"display_name"`
	ID                      uuid.UUID     `json:"id"`
	Members                 []ReducedUser `json:"members"`
	Name                    string        `json:"name"`
	OrganizationDisplayName string        `json:"organization_display_name"`
	OrganizationID          uuid.UUID     `json:"organization_id"`
	OrganizationName        string        `json:"organization_name"`
	QuotaAllowance          int64         `json:"quota_allowance"`
	Role                    TemplateRole  `json:"role"`
	Source                  GroupSource   `json:"source"`
	TotalMemberCount        int64         `json:"total_member_count"`
}

// TemplateRole is the role of a user or group on a template.
type TemplateRole string

// Values of TemplateRole.
const (
	TemplateRoleDefault TemplateRole = ""
	TemplateRoleAdmin   TemplateRole = "admin"
	TemplateRoleUse     TemplateRole = "use"
)

// UpdateTemplateACL changes an access list; an empty role removes the entry.
type UpdateTemplateACL struct {
	GroupPerms map[string]TemplateRole `json:"group_perms,omitempty"`
	UserPerms  map[string]string       `json:"user_perms,omitempty"`
}

// ACLAvailable lists the users and groups that an access list can name.
type ACLAvailable struct {
	Groups []Group       `json:"groups"`
	Users  []ReducedUser `json:"users"`
}

// UploadResponse is the ID of an uploaded file.
type UploadResponse struct {
	Hash string `json:"hash"`
}
