package access

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Site roles. Every user is a member.
const (
	RoleOwner         = "owner"
	RoleTemplateAdmin = "template-admin"
	RoleUserAdmin     = "user-admin"
	RoleAuditor       = "auditor"
	RoleMember        = "member"
)

// Roles in an organization. Every member is an organization-member.
const (
	RoleOrganizationAdmin         = "organization-admin"
	RoleOrganizationAuditor       = "organization-auditor"
	RoleOrganizationTemplateAdmin = "organization-template-admin"
	RoleOrganizationUserAdmin     = "organization-user-admin"
	RoleOrganizationCreationBan   = "organization-workspace-creation-ban"
	RoleOrganizationMember        = "organization-member"
)

// grant returns permissions on one resource type from a list such as "read update" or "*".
func grant(t codersdk.RBACResource, actions string) []codersdk.Permission {
	var out []codersdk.Permission
	for _, a := range strings.Fields(actions) {
		out = append(out, codersdk.Permission{ResourceType: t, Action: codersdk.RBACAction(a)})
	}
	return out
}

// forbid returns negated permissions.
func forbid(t codersdk.RBACResource, actions string) []codersdk.Permission {
	out := grant(t, actions)
	for i := range out {
		out[i].Negate = true
	}
	return out
}

// memberRole holds the permissions of every user. Sessions of suspended users end before they are checked
// here.
var memberRole = codersdk.Role{
	Name: RoleMember, DisplayName: "Member",
	SitePermissions: slices.Concat(
		grant(codersdk.RBACResourceAssignRole, "read"),
		grant(codersdk.RBACResourceOauth2App, "read"),
		grant(codersdk.RBACResourceWorkspaceProxy, "read"),
	),
	UserPermissions: slices.Concat(
		grant(codersdk.RBACResourceUser, "read read_personal update_personal"),
		grant(codersdk.RBACResourceAPIKey, "*"),
		grant(codersdk.RBACResourceFile, "create read"),
		grant(codersdk.RBACResourceUserSecret, "*"),
		grant(codersdk.RBACResourceInboxNotification, "*"),
		grant(codersdk.RBACResourceNotificationPreference, "*"),
		grant(codersdk.RBACResourceWebpushSubscription, "*"),
		grant(codersdk.RBACResourceOauth2AppCodeToken, "*"),
	),
}

// siteRoles are the assignable site roles.
var siteRoles = map[string]codersdk.Role{
	RoleOwner: {
		Name: RoleOwner, DisplayName: "Owner",
		SitePermissions: grant(codersdk.RBACResourceAny, "*"),
	},
	RoleTemplateAdmin: {
		Name: RoleTemplateAdmin, DisplayName: "Template Admin",
		SitePermissions: slices.Concat(
			grant(codersdk.RBACResourceTemplate, "*"),
			grant(codersdk.RBACResourceFile, "create read"),
			grant(codersdk.RBACResourceWorkspace, "read"),
			grant(codersdk.RBACResourceWorkspaceDormant, "read"),
			grant(codersdk.RBACResourcePrebuiltWorkspace, "*"),
			grant(codersdk.RBACResourceUser, "read"),
			grant(codersdk.RBACResourceGroup, "read"),
			grant(codersdk.RBACResourceGroupMember, "read"),
			grant(codersdk.RBACResourceOrganization, "read"),
			grant(codersdk.RBACResourceOrganizationMember, "read"),
			grant(codersdk.RBACResourceAssignOrgRole, "read"),
			grant(codersdk.RBACResourceProvisionerDaemon, "*"),
			grant(codersdk.RBACResourceProvisionerJobs, "*"),
		),
	},
	RoleUserAdmin: {
		Name: RoleUserAdmin, DisplayName: "User Admin",
		SitePermissions: slices.Concat(
			grant(codersdk.RBACResourceUser, "*"),
			grant(codersdk.RBACResourceGroup, "*"),
			grant(codersdk.RBACResourceGroupMember, "*"),
			grant(codersdk.RBACResourceOrganization, "read"),
			grant(codersdk.RBACResourceOrganizationMember, "*"),
			grant(codersdk.RBACResourceAssignOrgRole, "read"),
			grant(codersdk.RBACResourceIdpsyncSettings, "*"),
			grant(codersdk.RBACResourceTemplate, "read"),
		),
	},
	RoleAuditor: {
		Name: RoleAuditor, DisplayName: "Auditor",
		SitePermissions: slices.Concat(
			grant(codersdk.RBACResourceAuditLog, "read"),
			grant(codersdk.RBACResourceConnectionLog, "read"),
			grant(codersdk.RBACResourceTemplate, "read view_insights"),
			grant(codersdk.RBACResourceUser, "read"),
			grant(codersdk.RBACResourceGroup, "read"),
			grant(codersdk.RBACResourceGroupMember, "read"),
			grant(codersdk.RBACResourceOrganization, "read"),
			grant(codersdk.RBACResourceOrganizationMember, "read"),
			grant(codersdk.RBACResourceAssignOrgRole, "read"),
			grant(codersdk.RBACResourceDeploymentConfig, "read"),
			grant(codersdk.RBACResourceDeploymentStats, "read"),
		),
	},
}

// organizationMemberRole holds the permissions of every member of an organization.
var organizationMemberRole = codersdk.Role{
	Name: RoleOrganizationMember, DisplayName: "Organization Member",
	OrganizationPermissions: slices.Concat(
		grant(codersdk.RBACResourceOrganization, "read"),
		grant(codersdk.RBACResourceOrganizationMember, "read"),
		grant(codersdk.RBACResourceAssignOrgRole, "read"),
		grant(codersdk.RBACResourceGroup, "read"),
	),
	OrganizationMemberPermissions: slices.Concat(
		grant(codersdk.RBACResourceWorkspace, "*"),
		grant(codersdk.RBACResourceWorkspaceDormant, "read delete update start stop create_agent delete_agent update_agent"),
		grant(codersdk.RBACResourceTask, "*"),
		grant(codersdk.RBACResourceProvisionerDaemon, "*"),
		grant(codersdk.RBACResourceProvisionerJobs, "read"), // jobs that the user started
		grant(codersdk.RBACResourceGroupMember, "read"),
		grant(codersdk.RBACResourceWorkspaceAgentResourceMonitor, "*"),
		grant(codersdk.RBACResourceWorkspaceAgentDevcontainers, "*"),
	),
}

// organizationRoles are the assignable roles in an organization.
var organizationRoles = map[string]codersdk.Role{
	RoleOrganizationAdmin: {
		Name: RoleOrganizationAdmin, DisplayName: "Organization Admin",
		OrganizationPermissions: slices.Concat(
			grant(codersdk.RBACResourceOrganization, "read update delete"),
			grant(codersdk.RBACResourceOrganizationMember, "*"),
			grant(codersdk.RBACResourceAssignOrgRole, "*"),
			grant(codersdk.RBACResourceGroup, "*"),
			grant(codersdk.RBACResourceGroupMember, "*"),
			grant(codersdk.RBACResourceIdpsyncSettings, "*"),
			grant(codersdk.RBACResourceTemplate, "*"),
			grant(codersdk.RBACResourceFile, "create read"),
			// Everything but opening the workspace, which only its owner can do.
			grant(codersdk.RBACResourceWorkspace, "create read update delete start stop share create_agent delete_agent update_agent"),
			grant(codersdk.RBACResourceWorkspaceDormant, "create read update delete start stop share create_agent delete_agent update_agent"),
			grant(codersdk.RBACResourcePrebuiltWorkspace, "*"),
			grant(codersdk.RBACResourceTask, "*"),
			grant(codersdk.RBACResourceProvisionerDaemon, "*"),
			grant(codersdk.RBACResourceProvisionerJobs, "*"),
			grant(codersdk.RBACResourceAuditLog, "read"),
			grant(codersdk.RBACResourceConnectionLog, "read"),
		),
	},
	RoleOrganizationAuditor: {
		Name: RoleOrganizationAuditor, DisplayName: "Organization Auditor",
		OrganizationPermissions: slices.Concat(
			grant(codersdk.RBACResourceAuditLog, "read"),
			grant(codersdk.RBACResourceConnectionLog, "read"),
			grant(codersdk.RBACResourceTemplate, "read view_insights"),
			grant(codersdk.RBACResourceGroupMember, "read"),
		),
	},
	RoleOrganizationTemplateAdmin: {
		Name: RoleOrganizationTemplateAdmin, DisplayName: "Organization Template Admin",
		OrganizationPermissions: slices.Concat(
			grant(codersdk.RBACResourceTemplate, "*"),
			grant(codersdk.RBACResourceFile, "create read"),
			grant(codersdk.RBACResourceWorkspace, "read"),
			grant(codersdk.RBACResourceWorkspaceDormant, "read"),
			grant(codersdk.RBACResourcePrebuiltWorkspace, "*"),
			grant(codersdk.RBACResourceGroupMember, "read"),
			grant(codersdk.RBACResourceProvisionerDaemon, "*"),
			grant(codersdk.RBACResourceProvisionerJobs, "*"),
		),
	},
	RoleOrganizationUserAdmin: {
		Name: RoleOrganizationUserAdmin, DisplayName: "Organization User Admin",
		OrganizationPermissions: slices.Concat(
			grant(codersdk.RBACResourceOrganizationMember, "*"),
			grant(codersdk.RBACResourceGroup, "*"),
			grant(codersdk.RBACResourceGroupMember, "*"),
			grant(codersdk.RBACResourceIdpsyncSettings, "*"),
		),
	},
	RoleOrganizationCreationBan: {
		Name: RoleOrganizationCreationBan, DisplayName: "Organization Workspace Creation Ban",
		OrganizationPermissions: forbid(codersdk.RBACResourceWorkspace, "create"),
	},
}

// compositeScopes are the composite scopes.
var compositeScopes = map[codersdk.APIKeyScope][]codersdk.Permission{
	codersdk.APIKeyScopeAll:                     grant(codersdk.RBACResourceAny, "*"),
	codersdk.APIKeyScopeCoderAll:                grant(codersdk.RBACResourceAny, "*"),
	codersdk.APIKeyScopeApplicationConnect:      grant(codersdk.RBACResourceWorkspace, "application_connect"),
	codersdk.APIKeyScopeCoderApplicationConnect: grant(codersdk.RBACResourceWorkspace, "application_connect"),
	codersdk.APIKeyScopeCoderApikeysManageSelf:  grant(codersdk.RBACResourceAPIKey, "create read update delete"),
	codersdk.APIKeyScopeCoderTemplatesBuild: slices.Concat(
		grant(codersdk.RBACResourceTemplate, "read update"),
		grant(codersdk.RBACResourceFile, "create read"),
		grant(codersdk.RBACResourceProvisionerJobs, "read"),
	),
	codersdk.APIKeyScopeCoderTemplatesAuthor: slices.Concat(
		grant(codersdk.RBACResourceTemplate, "create read update delete use view_insights"),
		grant(codersdk.RBACResourceFile, "create read"),
		grant(codersdk.RBACResourceProvisionerJobs, "read"),
	),
	codersdk.APIKeyScopeCoderWorkspacesCreate: slices.Concat(
		grant(codersdk.RBACResourceTemplate, "read use"),
		grant(codersdk.RBACResourceWorkspace, "create read update"),
	),
	codersdk.APIKeyScopeCoderWorkspacesOperate: slices.Concat(
		grant(codersdk.RBACResourceTemplate, "read"),
		grant(codersdk.RBACResourceWorkspace, "read update start stop"),
	),
	codersdk.APIKeyScopeCoderWorkspacesDelete: slices.Concat(
		grant(codersdk.RBACResourceTemplate, "read"),
		grant(codersdk.RBACResourceWorkspace, "read delete"),
	),
	codersdk.APIKeyScopeCoderWorkspacesAccess: slices.Concat(
		grant(codersdk.RBACResourceTemplate, "read"),
		grant(codersdk.RBACResourceWorkspace, "read ssh application_connect"),
	),
}

// SiteRoles returns the assignable site roles by name.
func SiteRoles() []codersdk.Role { return sorted(siteRoles, uuid.Nil) }

// OrganizationRoles returns the assignable roles of an organization by name.
func OrganizationRoles(organization uuid.UUID) []codersdk.Role {
	return sorted(organizationRoles, organization)
}

func sorted(table map[string]codersdk.Role, organization uuid.UUID) []codersdk.Role {
	out := make([]codersdk.Role, 0, len(table))
	for _, r := range table {
		for _, ps := range []*[]codersdk.Permission{&r.SitePermissions, &r.OrganizationPermissions, &r.OrganizationMemberPermissions, &r.UserPermissions} {
			*ps = append([]codersdk.Permission{}, *ps...)
		}
		if organization != uuid.Nil {
			r.OrganizationID = organization.String()
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b codersdk.Role) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// SlimSite returns the API view of site roles.
func SlimSite(names []string) []codersdk.SlimRole {
	out := make([]codersdk.SlimRole, 0, len(names))
	for _, n := range names {
		out = append(out, codersdk.SlimRole{Name: n, DisplayName: siteRoles[n].DisplayName})
	}
	return out
}

// SlimOrganization returns the API view of an organization's roles.
func SlimOrganization(organization uuid.UUID, names []string) []codersdk.SlimRole {
	out := make([]codersdk.SlimRole, 0, len(names))
	for _, n := range names {
		out = append(out, codersdk.SlimRole{Name: n, DisplayName: organizationRoles[n].DisplayName, OrganizationID: organization.String()})
	}
	return out
}

// words returns an identifier as words.
func words(s string) string {
	if s == "*" {
		return "thing"
	}
	return strings.ReplaceAll(s, "_", " ")
}
