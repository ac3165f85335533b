package codersdk

import (
	"time"

	"github.com/google/uuid"
)

// Role is a named set of permissions for the site, an organization, or a user's
// own objects.
type Role struct {
	DisplayName                   string       `json:"display_name"`
	Name                          string       `json:"name"`
	OrganizationID                string       `json:"organization_id"`
	OrganizationMemberPermissions []Permission `json:"organization_member_permissions"`
	OrganizationPermissions       []Permission `json:"organization_permissions"`
	SitePermissions               []Permission `json:"site_permissions"`
	UpdatedAt                     *time.Time   `json:"updated_at,omitempty"` // for custom roles; an extension
	UserPermissions               []Permission `json:"user_permissions"`
}

// CustomRoleRequest creates or changes a custom role of an organization. Only
// permissions within the organization are allowed.
type CustomRoleRequest struct {
	IfUnchanged
	DisplayName                   string       `json:"display_name"`
	Name                          string       `json:"name"`
	OrganizationMemberPermissions []Permission `json:"organization_member_permissions"`
	OrganizationPermissions       []Permission `json:"organization_permissions"`
	SitePermissions               []Permission `json:"site_permissions"`
	UserPermissions               []Permission `json:"user_permissions"`
}

// SlimRole is the name of a role.
type SlimRole struct {
	DisplayName    string `json:"display_name"`
	Name           string `json:"name"`
	OrganizationID string `json:"organization_id"`
}

// UserRoles lists the roles of a user: site roles, and roles by organization ID.
// A member without roles has an empty list.
type UserRoles struct {
	OrganizationRoles map[uuid.UUID][]string `json:"organization_roles"`
	Roles             []string               `json:"roles"`
}

// Permission allows one action on one resource type, or forbids it with Negate.
type Permission struct {
	Action       RBACAction   `json:"action"`
	Negate       bool         `json:"negate"`
	ResourceType RBACResource `json:"resource_type"`
}

// RBACAction is an action that a permission allows or forbids.
type RBACAction string

// Values of RBACAction.
const (
	RBACActionApplicationConnect RBACAction = "application_connect"
	RBACActionAssign             RBACAction = "assign"
	RBACActionCreate             RBACAction = "create"
	RBACActionCreateAgent        RBACAction = "create_agent"
	RBACActionDelete             RBACAction = "delete"
	RBACActionDeleteAgent        RBACAction = "delete_agent"
	RBACActionRead               RBACAction = "read"
	RBACActionReadPersonal       RBACAction = "read_personal"
	RBACActionShare              RBACAction = "share"
	RBACActionSSH                RBACAction = "ssh"
	RBACActionStart              RBACAction = "start"
	RBACActionStop               RBACAction = "stop"
	RBACActionUnassign           RBACAction = "unassign"
	RBACActionUpdate             RBACAction = "update"
	RBACActionUpdateAgent        RBACAction = "update_agent"
	RBACActionUpdatePersonal     RBACAction = "update_personal"
	RBACActionUse                RBACAction = "use"
	RBACActionViewInsights       RBACAction = "view_insights"
)

// RBACResource is a type of object that permissions apply to.
type RBACResource string

// Values of RBACResource.
const (
	RBACResourceAny                           RBACResource = "*"
	RBACResourceAibridgeInterception          RBACResource = "aibridge_interception"
	RBACResourceAPIKey                        RBACResource = "api_key"
	RBACResourceAssignOrgRole                 RBACResource = "assign_org_role"
	RBACResourceAssignRole                    RBACResource = "assign_role"
	RBACResourceAuditLog                      RBACResource = "audit_log"
	RBACResourceBoundaryUsage                 RBACResource = "boundary_usage"
	RBACResourceConnectionLog                 RBACResource = "connection_log"
	RBACResourceCryptoKey                     RBACResource = "crypto_key"
	RBACResourceDebugInfo                     RBACResource = "debug_info"
	RBACResourceDeploymentConfig              RBACResource = "deployment_config"
	RBACResourceDeploymentStats               RBACResource = "deployment_stats"
	RBACResourceFile                          RBACResource = "file"
	RBACResourceGroup                         RBACResource = "group"
	RBACResourceGroupMember                   RBACResource = "group_member"
	RBACResourceIdpsyncSettings               RBACResource = "idpsync_settings"
	RBACResourceInboxNotification             RBACResource = "inbox_notification"
	RBACResourceLicense                       RBACResource = "license"
	RBACResourceNotificationMessage           RBACResource = "notification_message"
	RBACResourceNotificationPreference        RBACResource = "notification_preference"
	RBACResourceNotificationTemplate          RBACResource = "notification_template"
	RBACResourceOauth2App                     RBACResource = "oauth2_app"
	RBACResourceOauth2AppCodeToken            RBACResource = "oauth2_app_code_token"
	RBACResourceOauth2AppSecret               RBACResource = "oauth2_app_secret"
	RBACResourceOrganization                  RBACResource = "organization"
	RBACResourceOrganizationMember            RBACResource = "organization_member"
	RBACResourcePrebuiltWorkspace             RBACResource = "prebuilt_workspace"
	RBACResourceProvisionerDaemon             RBACResource = "provisioner_daemon"
	RBACResourceProvisionerJobs               RBACResource = "provisioner_jobs"
	RBACResourceReplicas                      RBACResource = "replicas"
	RBACResourceSystem                        RBACResource = "system"
	RBACResourceTailnetCoordinator            RBACResource = "tailnet_coordinator"
	RBACResourceTask                          RBACResource = "task"
	RBACResourceTemplate                      RBACResource = "template"
	RBACResourceUsageEvent                    RBACResource = "usage_event"
	RBACResourceUser                          RBACResource = "user"
	RBACResourceUserSecret                    RBACResource = "user_secret"
	RBACResourceWebpushSubscription           RBACResource = "webpush_subscription"
	RBACResourceWorkspace                     RBACResource = "workspace"
	RBACResourceWorkspaceAgentDevcontainers   RBACResource = "workspace_agent_devcontainers"
	RBACResourceWorkspaceAgentResourceMonitor RBACResource = "workspace_agent_resource_monitor"
	RBACResourceWorkspaceDormant              RBACResource = "workspace_dormant"
	RBACResourceWorkspaceProxy                RBACResource = "workspace_proxy"
)

// AssignableRoles is a role and whether the caller can assign it.
type AssignableRoles struct {
	Assignable                    bool         `json:"assignable"`
	BuiltIn                       bool         `json:"built_in"`
	DisplayName                   string       `json:"display_name"`
	Name                          string       `json:"name"`
	OrganizationID                string       `json:"organization_id"`
	OrganizationMemberPermissions []Permission `json:"organization_member_permissions"`
	OrganizationPermissions       []Permission `json:"organization_permissions"`
	SitePermissions               []Permission `json:"site_permissions"`
	UpdatedAt                     *time.Time   `json:"updated_at,omitempty"` // see Role
	UserPermissions               []Permission `json:"user_permissions"`
}

// UpdateRoles replaces the roles of a user or member.
type UpdateRoles struct {
	IfUnchanged
	Roles []string `json:"roles,omitempty"`
}

// AuthorizationRequest asks for several permission checks at once.
type AuthorizationRequest struct {
	Checks map[string]AuthorizationCheck `json:"checks"`
}

// AuthorizationCheck is one permission check.
type AuthorizationCheck struct {
	Action RBACAction          `json:"action"`
	Object AuthorizationObject `json:"object"`
}

// AuthorizationObject is the object of a permission check.
type AuthorizationObject struct {
	AnyOrg         bool         `json:"any_org"`
	OrganizationID string       `json:"organization_id"`
	OwnerID        string       `json:"owner_id"`
	ResourceID     string       `json:"resource_id"`
	ResourceType   RBACResource `json:"resource_type"`
}

// AuthorizationResponse holds the results of permission checks by name.
type AuthorizationResponse map[string]bool
