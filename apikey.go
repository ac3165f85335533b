package coder

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"
)

// APIKey is a session or an API token; its secret is never stored in clear.
type APIKey struct {
	AllowList       []APIAllowListTarget `json:"allow_list"`
	CreatedAt       time.Time            `json:"created_at"`
	ExpiresAt       time.Time            `json:"expires_at"`
	ID              string               `json:"id"`
	LastUsed        time.Time            `json:"last_used"`
	LifetimeSeconds int64                `json:"lifetime_seconds"`
	LoginType       LoginType            `json:"login_type"`
	Scope           APIKeyScope          `json:"scope"`
	Scopes          []APIKeyScope        `json:"scopes"`
	TokenName       string               `json:"token_name"`
	UpdatedAt       time.Time            `json:"updated_at"`
	UserID          uuid.UUID            `json:"user_id"`
}

// APIKeyScope limits what a token may do: a resource and an action, or a composite.
type APIKeyScope string

// Values of APIKeyScope.
const (
	APIKeyScopeAibridgeInterceptionAny             APIKeyScope = "aibridge_interception:*"
	APIKeyScopeAibridgeInterceptionCreate          APIKeyScope = "aibridge_interception:create"
	APIKeyScopeAibridgeInterceptionRead            APIKeyScope = "aibridge_interception:read"
	APIKeyScopeAibridgeInterceptionUpdate          APIKeyScope = "aibridge_interception:update"
	APIKeyScopeAll                                 APIKeyScope = "all"
	APIKeyScopeAPIKeyAny                           APIKeyScope = "api_key:*"
	APIKeyScopeAPIKeyCreate                        APIKeyScope = "api_key:create"
	APIKeyScopeAPIKeyDelete                        APIKeyScope = "api_key:delete"
	APIKeyScopeAPIKeyRead                          APIKeyScope = "api_key:read"
	APIKeyScopeAPIKeyUpdate                        APIKeyScope = "api_key:update"
	APIKeyScopeApplicationConnect                  APIKeyScope = "application_connect"
	APIKeyScopeAssignOrgRoleAny                    APIKeyScope = "assign_org_role:*"
	APIKeyScopeAssignOrgRoleAssign                 APIKeyScope = "assign_org_role:assign"
	APIKeyScopeAssignOrgRoleCreate                 APIKeyScope = "assign_org_role:create"
	APIKeyScopeAssignOrgRoleDelete                 APIKeyScope = "assign_org_role:delete"
	APIKeyScopeAssignOrgRoleRead                   APIKeyScope = "assign_org_role:read"
	APIKeyScopeAssignOrgRoleUnassign               APIKeyScope = "assign_org_role:unassign"
	APIKeyScopeAssignOrgRoleUpdate                 APIKeyScope = "assign_org_role:update"
	APIKeyScopeAssignRoleAny                       APIKeyScope = "assign_role:*"
	APIKeyScopeAssignRoleAssign                    APIKeyScope = "assign_role:assign"
	APIKeyScopeAssignRoleRead                      APIKeyScope = "assign_role:read"
	APIKeyScopeAssignRoleUnassign                  APIKeyScope = "assign_role:unassign"
	APIKeyScopeAuditLogAny                         APIKeyScope = "audit_log:*"
	APIKeyScopeAuditLogCreate                      APIKeyScope = "audit_log:create"
	APIKeyScopeAuditLogRead                        APIKeyScope = "audit_log:read"
	APIKeyScopeBoundaryUsageAny                    APIKeyScope = "boundary_usage:*"
	APIKeyScopeBoundaryUsageDelete                 APIKeyScope = "boundary_usage:delete"
	APIKeyScopeBoundaryUsageRead                   APIKeyScope = "boundary_usage:read"
	APIKeyScopeBoundaryUsageUpdate                 APIKeyScope = "boundary_usage:update"
	APIKeyScopeCoderAll                            APIKeyScope = "coder:all"
	APIKeyScopeCoderApikeysManageSelf              APIKeyScope = "coder:apikeys.manage_self"
	APIKeyScopeCoderApplicationConnect             APIKeyScope = "coder:application_connect"
	APIKeyScopeCoderTemplatesAuthor                APIKeyScope = "coder:templates.author"
	APIKeyScopeCoderTemplatesBuild                 APIKeyScope = "coder:templates.build"
	APIKeyScopeCoderWorkspacesAccess               APIKeyScope = "coder:workspaces.access"
	APIKeyScopeCoderWorkspacesCreate               APIKeyScope = "coder:workspaces.create"
	APIKeyScopeCoderWorkspacesDelete               APIKeyScope = "coder:workspaces.delete"
	APIKeyScopeCoderWorkspacesOperate              APIKeyScope = "coder:workspaces.operate"
	APIKeyScopeConnectionLogAny                    APIKeyScope = "connection_log:*"
	APIKeyScopeConnectionLogRead                   APIKeyScope = "connection_log:read"
	APIKeyScopeConnectionLogUpdate                 APIKeyScope = "connection_log:update"
	APIKeyScopeCryptoKeyAny                        APIKeyScope = "crypto_key:*"
	APIKeyScopeCryptoKeyCreate                     APIKeyScope = "crypto_key:create"
	APIKeyScopeCryptoKeyDelete                     APIKeyScope = "crypto_key:delete"
	APIKeyScopeCryptoKeyRead                       APIKeyScope = "crypto_key:read"
	APIKeyScopeCryptoKeyUpdate                     APIKeyScope = "crypto_key:update"
	APIKeyScopeDebugInfoAny                        APIKeyScope = "debug_info:*"
	APIKeyScopeDebugInfoRead                       APIKeyScope = "debug_info:read"
	APIKeyScopeDeploymentConfigAny                 APIKeyScope = "deployment_config:*"
	APIKeyScopeDeploymentConfigRead                APIKeyScope = "deployment_config:read"
	APIKeyScopeDeploymentConfigUpdate              APIKeyScope = "deployment_config:update"
	APIKeyScopeDeploymentStatsAny                  APIKeyScope = "deployment_stats:*"
	APIKeyScopeDeploymentStatsRead                 APIKeyScope = "deployment_stats:read"
	APIKeyScopeFileAny                             APIKeyScope = "file:*"
	APIKeyScopeFileCreate                          APIKeyScope = "file:create"
	APIKeyScopeFileRead                            APIKeyScope = "file:read"
	APIKeyScopeGroupAny                            APIKeyScope = "group:*"
	APIKeyScopeGroupCreate                         APIKeyScope = "group:create"
	APIKeyScopeGroupDelete                         APIKeyScope = "group:delete"
	APIKeyScopeGroupRead                           APIKeyScope = "group:read"
	APIKeyScopeGroupUpdate                         APIKeyScope = "group:update"
	APIKeyScopeGroupMemberAny                      APIKeyScope = "group_member:*"
	APIKeyScopeGroupMemberRead                     APIKeyScope = "group_member:read"
	APIKeyScopeIdpsyncSettingsAny                  APIKeyScope = "idpsync_settings:*"
	APIKeyScopeIdpsyncSettingsRead                 APIKeyScope = "idpsync_settings:read"
	APIKeyScopeIdpsyncSettingsUpdate               APIKeyScope = "idpsync_settings:update"
	APIKeyScopeInboxNotificationAny                APIKeyScope = "inbox_notification:*"
	APIKeyScopeInboxNotificationCreate             APIKeyScope = "inbox_notification:create"
	APIKeyScopeInboxNotificationRead               APIKeyScope = "inbox_notification:read"
	APIKeyScopeInboxNotificationUpdate             APIKeyScope = "inbox_notification:update"
	APIKeyScopeLicenseAny                          APIKeyScope = "license:*"
	APIKeyScopeLicenseCreate                       APIKeyScope = "license:create"
	APIKeyScopeLicenseDelete                       APIKeyScope = "license:delete"
	APIKeyScopeLicenseRead                         APIKeyScope = "license:read"
	APIKeyScopeNotificationMessageAny              APIKeyScope = "notification_message:*"
	APIKeyScopeNotificationMessageCreate           APIKeyScope = "notification_message:create"
	APIKeyScopeNotificationMessageDelete           APIKeyScope = "notification_message:delete"
	APIKeyScopeNotificationMessageRead             APIKeyScope = "notification_message:read"
	APIKeyScopeNotificationMessageUpdate           APIKeyScope = "notification_message:update"
	APIKeyScopeNotificationPreferenceAny           APIKeyScope = "notification_preference:*"
	APIKeyScopeNotificationPreferenceRead          APIKeyScope = "notification_preference:read"
	APIKeyScopeNotificationPreferenceUpdate        APIKeyScope = "notification_preference:update"
	APIKeyScopeNotificationTemplateAny             APIKeyScope = "notification_template:*"
	APIKeyScopeNotificationTemplateRead            APIKeyScope = "notification_template:read"
	APIKeyScopeNotificationTemplateUpdate          APIKeyScope = "notification_template:update"
	APIKeyScopeOauth2AppAny                        APIKeyScope = "oauth2_app:*"
	APIKeyScopeOauth2AppCreate                     APIKeyScope = "oauth2_app:create"
	APIKeyScopeOauth2AppDelete                     APIKeyScope = "oauth2_app:delete"
	APIKeyScopeOauth2AppRead                       APIKeyScope = "oauth2_app:read"
	APIKeyScopeOauth2AppUpdate                     APIKeyScope = "oauth2_app:update"
	APIKeyScopeOauth2AppCodeTokenAny               APIKeyScope = "oauth2_app_code_token:*"
	APIKeyScopeOauth2AppCodeTokenCreate            APIKeyScope = "oauth2_app_code_token:create"
	APIKeyScopeOauth2AppCodeTokenDelete            APIKeyScope = "oauth2_app_code_token:delete"
	APIKeyScopeOauth2AppCodeTokenRead              APIKeyScope = "oauth2_app_code_token:read"
	APIKeyScopeOauth2AppSecretAny                  APIKeyScope = "oauth2_app_secret:*"
	APIKeyScopeOauth2AppSecretCreate               APIKeyScope = "oauth2_app_secret:create"
	APIKeyScopeOauth2AppSecretDelete               APIKeyScope = "oauth2_app_secret:delete"
	APIKeyScopeOauth2AppSecretRead                 APIKeyScope = "oauth2_app_secret:read"
	APIKeyScopeOauth2AppSecretUpdate               APIKeyScope = "oauth2_app_secret:update"
	APIKeyScopeOrganizationAny                     APIKeyScope = "organization:*"
	APIKeyScopeOrganizationCreate                  APIKeyScope = "organization:create"
	APIKeyScopeOrganizationDelete                  APIKeyScope = "organization:delete"
	APIKeyScopeOrganizationRead                    APIKeyScope = "organization:read"
	APIKeyScopeOrganizationUpdate                  APIKeyScope = "organization:update"
	APIKeyScopeOrganizationMemberAny               APIKeyScope = "organization_member:*"
	APIKeyScopeOrganizationMemberCreate            APIKeyScope = "organization_member:create"
	APIKeyScopeOrganizationMemberDelete            APIKeyScope = "organization_member:delete"
	APIKeyScopeOrganizationMemberRead              APIKeyScope = "organization_member:read"
	APIKeyScopeOrganizationMemberUpdate            APIKeyScope = "organization_member:update"
	APIKeyScopePrebuiltWorkspaceAny                APIKeyScope = "prebuilt_workspace:*"
	APIKeyScopePrebuiltWorkspaceDelete             APIKeyScope = "prebuilt_workspace:delete"
	APIKeyScopePrebuiltWorkspaceUpdate             APIKeyScope = "prebuilt_workspace:update"
	APIKeyScopeProvisionerDaemonAny                APIKeyScope = "provisioner_daemon:*"
	APIKeyScopeProvisionerDaemonCreate             APIKeyScope = "provisioner_daemon:create"
	APIKeyScopeProvisionerDaemonDelete             APIKeyScope = "provisioner_daemon:delete"
	APIKeyScopeProvisionerDaemonRead               APIKeyScope = "provisioner_daemon:read"
	APIKeyScopeProvisionerDaemonUpdate             APIKeyScope = "provisioner_daemon:update"
	APIKeyScopeProvisionerJobsAny                  APIKeyScope = "provisioner_jobs:*"
	APIKeyScopeProvisionerJobsCreate               APIKeyScope = "provisioner_jobs:create"
	APIKeyScopeProvisionerJobsRead                 APIKeyScope = "provisioner_jobs:read"
	APIKeyScopeProvisionerJobsUpdate               APIKeyScope = "provisioner_jobs:update"
	APIKeyScopeReplicasAny                         APIKeyScope = "replicas:*"
	APIKeyScopeReplicasRead                        APIKeyScope = "replicas:read"
	APIKeyScopeSystemAny                           APIKeyScope = "system:*"
	APIKeyScopeSystemCreate                        APIKeyScope = "system:create"
	APIKeyScopeSystemDelete                        APIKeyScope = "system:delete"
	APIKeyScopeSystemRead                          APIKeyScope = "system:read"
	APIKeyScopeSystemUpdate                        APIKeyScope = "system:update"
	APIKeyScopeTailnetCoordinatorAny               APIKeyScope = "tailnet_coordinator:*"
	APIKeyScopeTailnetCoordinatorCreate            APIKeyScope = "tailnet_coordinator:create"
	APIKeyScopeTailnetCoordinatorDelete            APIKeyScope = "tailnet_coordinator:delete"
	APIKeyScopeTailnetCoordinatorRead              APIKeyScope = "tailnet_coordinator:read"
	APIKeyScopeTailnetCoordinatorUpdate            APIKeyScope = "tailnet_coordinator:update"
	APIKeyScopeTaskAny                             APIKeyScope = "task:*"
	APIKeyScopeTaskCreate                          APIKeyScope = "task:create"
	APIKeyScopeTaskDelete                          APIKeyScope = "task:delete"
	APIKeyScopeTaskRead                            APIKeyScope = "task:read"
	APIKeyScopeTaskUpdate                          APIKeyScope = "task:update"
	APIKeyScopeTemplateAny                         APIKeyScope = "template:*"
	APIKeyScopeTemplateCreate                      APIKeyScope = "template:create"
	APIKeyScopeTemplateDelete                      APIKeyScope = "template:delete"
	APIKeyScopeTemplateRead                        APIKeyScope = "template:read"
	APIKeyScopeTemplateUpdate                      APIKeyScope = "template:update"
	APIKeyScopeTemplateUse                         APIKeyScope = "template:use"
	APIKeyScopeTemplateViewInsights                APIKeyScope = "template:view_insights"
	APIKeyScopeUsageEventAny                       APIKeyScope = "usage_event:*"
	APIKeyScopeUsageEventCreate                    APIKeyScope = "usage_event:create"
	APIKeyScopeUsageEventRead                      APIKeyScope = "usage_event:read"
	APIKeyScopeUsageEventUpdate                    APIKeyScope = "usage_event:update"
	APIKeyScopeUserAny                             APIKeyScope = "user:*"
	APIKeyScopeUserCreate                          APIKeyScope = "user:create"
	APIKeyScopeUserDelete                          APIKeyScope = "user:delete"
	APIKeyScopeUserRead                            APIKeyScope = "user:read"
	APIKeyScopeUserReadPersonal                    APIKeyScope = "user:read_personal"
	APIKeyScopeUserUpdate                          APIKeyScope = "user:update"
	APIKeyScopeUserUpdatePersonal                  APIKeyScope = "user:update_personal"
	APIKeyScopeUserSecretAny                       APIKeyScope = "user_secret:*"
	APIKeyScopeUserSecretCreate                    APIKeyScope = "user_secret:create"
	APIKeyScopeUserSecretDelete                    APIKeyScope = "user_secret:delete"
	APIKeyScopeUserSecretRead                      APIKeyScope = "user_secret:read"
	APIKeyScopeUserSecretUpdate                    APIKeyScope = "user_secret:update"
	APIKeyScopeWebpushSubscriptionAny              APIKeyScope = "webpush_subscription:*"
	APIKeyScopeWebpushSubscriptionCreate           APIKeyScope = "webpush_subscription:create"
	APIKeyScopeWebpushSubscriptionDelete           APIKeyScope = "webpush_subscription:delete"
	APIKeyScopeWebpushSubscriptionRead             APIKeyScope = "webpush_subscription:read"
	APIKeyScopeWorkspaceAny                        APIKeyScope = "workspace:*"
	APIKeyScopeWorkspaceApplicationConnect         APIKeyScope = "workspace:application_connect"
	APIKeyScopeWorkspaceCreate                     APIKeyScope = "workspace:create"
	APIKeyScopeWorkspaceCreateAgent                APIKeyScope = "workspace:create_agent"
	APIKeyScopeWorkspaceDelete                     APIKeyScope = "workspace:delete"
	APIKeyScopeWorkspaceDeleteAgent                APIKeyScope = "workspace:delete_agent"
	APIKeyScopeWorkspaceRead                       APIKeyScope = "workspace:read"
	APIKeyScopeWorkspaceShare                      APIKeyScope = "workspace:share"
	APIKeyScopeWorkspaceSSH                        APIKeyScope = "workspace:ssh"
	APIKeyScopeWorkspaceStart                      APIKeyScope = "workspace:start"
	APIKeyScopeWorkspaceStop                       APIKeyScope = "workspace:stop"
	APIKeyScopeWorkspaceUpdate                     APIKeyScope = "workspace:update"
	APIKeyScopeWorkspaceUpdateAgent                APIKeyScope = "workspace:update_agent"
	APIKeyScopeWorkspaceAgentDevcontainersAny      APIKeyScope = "workspace_agent_devcontainers:*"
	APIKeyScopeWorkspaceAgentDevcontainersCreate   APIKeyScope = "workspace_agent_devcontainers:create"
	APIKeyScopeWorkspaceAgentResourceMonitorAny    APIKeyScope = "workspace_agent_resource_monitor:*"
	APIKeyScopeWorkspaceAgentResourceMonitorCreate APIKeyScope = "workspace_agent_resource_monitor:create"
	APIKeyScopeWorkspaceAgentResourceMonitorRead   APIKeyScope = "workspace_agent_resource_monitor:read"
	APIKeyScopeWorkspaceAgentResourceMonitorUpdate APIKeyScope = "workspace_agent_resource_monitor:update"
	APIKeyScopeWorkspaceDormantAny                 APIKeyScope = "workspace_dormant:*"
	APIKeyScopeWorkspaceDormantApplicationConnect  APIKeyScope = "workspace_dormant:application_connect"
	APIKeyScopeWorkspaceDormantCreate              APIKeyScope = "workspace_dormant:create"
	APIKeyScopeWorkspaceDormantCreateAgent         APIKeyScope = "workspace_dormant:create_agent"
	APIKeyScopeWorkspaceDormantDelete              APIKeyScope = "workspace_dormant:delete"
	APIKeyScopeWorkspaceDormantDeleteAgent         APIKeyScope = "workspace_dormant:delete_agent"
	APIKeyScopeWorkspaceDormantRead                APIKeyScope = "workspace_dormant:read"
	APIKeyScopeWorkspaceDormantShare               APIKeyScope = "workspace_dormant:share"
	APIKeyScopeWorkspaceDormantSSH                 APIKeyScope = "workspace_dormant:ssh"
	APIKeyScopeWorkspaceDormantStart               APIKeyScope = "workspace_dormant:start"
	APIKeyScopeWorkspaceDormantStop                APIKeyScope = "workspace_dormant:stop"
	APIKeyScopeWorkspaceDormantUpdate              APIKeyScope = "workspace_dormant:update"
	APIKeyScopeWorkspaceDormantUpdateAgent         APIKeyScope = "workspace_dormant:update_agent"
	APIKeyScopeWorkspaceProxyAny                   APIKeyScope = "workspace_proxy:*"
	APIKeyScopeWorkspaceProxyCreate                APIKeyScope = "workspace_proxy:create"
	APIKeyScopeWorkspaceProxyDelete                APIKeyScope = "workspace_proxy:delete"
	APIKeyScopeWorkspaceProxyRead                  APIKeyScope = "workspace_proxy:read"
	APIKeyScopeWorkspaceProxyUpdate                APIKeyScope = "workspace_proxy:update"
)

// APIAllowListTarget limits a token to one object, or to one type of objects.
type APIAllowListTarget struct {
	ID   string       `json:"id"`
	Type RBACResource `json:"type"`
}

// UnmarshalJSON reads an object, or the short form "type:id".
func (t *APIAllowListTarget) UnmarshalJSON(b []byte) error {
	var short string
	if json.Unmarshal(b, &short) == nil {
		kind, id, ok := strings.Cut(short, ":")
		if !ok {
			return Invalid("allow_list", "%.80q is not of the form type:id", short)
		}
		t.Type, t.ID = RBACResource(kind), id
		return nil
	}
	type plain APIAllowListTarget
	return json.Unmarshal(b, (*plain)(t))
}

// CreateTokenRequest makes an API token.
type CreateTokenRequest struct {
	AllowList []APIAllowListTarget `json:"allow_list,omitempty"`
	Lifetime  time.Duration        `json:"lifetime,omitempty"`
	Scope     APIKeyScope          `json:"scope,omitempty"`
	Scopes    []APIKeyScope        `json:"scopes,omitempty"`
	TokenName string               `json:"token_name,omitempty"`
}

// GenerateAPIKeyResponse carries the key, once.
type GenerateAPIKeyResponse struct {
	Key string `json:"key"`
}

// TokenConfig says how long a token may live.
type TokenConfig struct {
	MaxTokenLifetime time.Duration `json:"max_token_lifetime"`
}

// LoginWithPasswordRequest trades e-mail and password for a session.
type LoginWithPasswordRequest struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

// LoginWithPasswordResponse carries the session token, once.
type LoginWithPasswordResponse struct {
	SessionToken string `json:"session_token"`
}

// ExternalAPIKeyScopes is the public catalogue of token scopes.
type ExternalAPIKeyScopes struct {
	External []APIKeyScope `json:"external"`
}

// ConvertLoginRequest moves a user from password to another login type.
type ConvertLoginRequest struct {
	Password string    `json:"password"`
	ToType   LoginType `json:"to_type"`
}
