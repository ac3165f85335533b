package codersdk

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// AuditLog is one audited change: user, action, resource, time and client address.
type AuditLog struct {
	Action           AuditAction          `json:"action"`
	AdditionalFields json.RawMessage      `json:"additional_fields"`
	Description      string               `json:"description"`
	Diff             AuditDiff            `json:"diff"`
	ID               uuid.UUID            `json:"id"`
	IP               string               `json:"ip"`
	IsDeleted        bool                 `json:"is_deleted"`
	Organization     *MinimalOrganization `json:"organization,omitempty"`
	OrganizationID   uuid.UUID            `json:"organization_id"`
	RequestID        string               `json:"request_id"`
	ResourceIcon     string               `json:"resource_icon"`
	ResourceID       uuid.UUID            `json:"resource_id"`
	ResourceLink     string               `json:"resource_link"`
	ResourceTarget   string               `json:"resource_target"`
	ResourceType     ResourceType         `json:"resource_type"`
	StatusCode       int64                `json:"status_code"`
	Time             time.Time            `json:"time"`
	User             *User                `json:"user,omitempty"`
	UserAgent        string               `json:"user_agent"`
}

// AuditAction is the action of an audit entry.
type AuditAction string

// Values of AuditAction.
const (
	AuditActionClose                AuditAction = "close"
	AuditActionConnect              AuditAction = "connect"
	AuditActionCreate               AuditAction = "create"
	AuditActionDelete               AuditAction = "delete"
	AuditActionDisconnect           AuditAction = "disconnect"
	AuditActionLogin                AuditAction = "login"
	AuditActionLogout               AuditAction = "logout"
	AuditActionOpen                 AuditAction = "open"
	AuditActionRegister             AuditAction = "register"
	AuditActionRequestPasswordReset AuditAction = "request_password_reset"
	AuditActionStart                AuditAction = "start"
	AuditActionStop                 AuditAction = "stop"
	AuditActionWrite                AuditAction = "write"
)

// AuditDiff holds the changed fields by name.
type AuditDiff map[string]AuditDiffField

// AuditDiffField is the value of a field before and after. Both are empty for secrets.
type AuditDiffField struct {
	New    any  `json:"new"`
	Old    any  `json:"old"`
	Secret bool `json:"secret"`
}

// AuditLogResponse is a page of the audit log and the count of all matching entries.
type AuditLogResponse struct {
	AuditLogs []AuditLog `json:"audit_logs"`
	Count     int        `json:"count"`
}

// ResourceType is the type of the resource that an audit entry is about.
type ResourceType string

// Values of ResourceType.
const (
	ResourceTypeAPIKey                      ResourceType = "api_key"
	ResourceTypeAppearance                  ResourceType = "appearance"
	ResourceTypeConvertLogin                ResourceType = "convert_login"
	ResourceTypeCustomRole                  ResourceType = "custom_role"
	ResourceTypeGitSSHKey                   ResourceType = "git_ssh_key"
	ResourceTypeGroup                       ResourceType = "group"
	ResourceTypeHealthSettings              ResourceType = "health_settings"
	ResourceTypeIdpSyncSettingsGroup        ResourceType = "idp_sync_settings_group"
	ResourceTypeIdpSyncSettingsOrganization ResourceType = "idp_sync_settings_organization"
	ResourceTypeIdpSyncSettingsRole         ResourceType = "idp_sync_settings_role"
	ResourceTypeLicense                     ResourceType = "license"
	ResourceTypeNotificationTemplate        ResourceType = "notification_template"
	ResourceTypeNotificationsSettings       ResourceType = "notifications_settings"
	ResourceTypeOauth2ProviderApp           ResourceType = "oauth2_provider_app"
	ResourceTypeOauth2ProviderAppSecret     ResourceType = "oauth2_provider_app_secret"
	ResourceTypeOrganization                ResourceType = "organization"
	ResourceTypeOrganizationMember          ResourceType = "organization_member"
	ResourceTypePrebuildsSettings           ResourceType = "prebuilds_settings"
	ResourceTypeTask                        ResourceType = "task"
	ResourceTypeTemplate                    ResourceType = "template"
	ResourceTypeTemplateVersion             ResourceType = "template_version"
	ResourceTypeUser                        ResourceType = "user"
	ResourceTypeWorkspace                   ResourceType = "workspace"
	ResourceTypeWorkspaceAgent              ResourceType = "workspace_agent"
	ResourceTypeWorkspaceApp                ResourceType = "workspace_app"
	ResourceTypeWorkspaceBuild              ResourceType = "workspace_build"
	ResourceTypeWorkspaceProxy              ResourceType = "workspace_proxy"
)
