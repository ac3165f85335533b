package access

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// The site roles. Everyone is a member.
const (
	RoleOwner         = "owner"
	RoleTemplateAdmin = "template-admin"
	RoleUserAdmin     = "user-admin"
	RoleAuditor       = "auditor"
	RoleMember        = "member"
)

// The roles in one organization. Everyone in it is an organization-member.
const (
	RoleOrganizationAdmin         = "organization-admin"
	RoleOrganizationAuditor       = "organization-auditor"
	RoleOrganizationTemplateAdmin = "organization-template-admin"
	RoleOrganizationUserAdmin     = "organization-user-admin"
	RoleOrganizationCreationBan   = "organization-workspace-creation-ban"
	RoleOrganizationMember        = "organization-member"
)

// grant writes permissions of one resource type: "read update" or "*".
func grant(t coder.RBACResource, actions string) []coder.Permission {
	var out []coder.Permission
	for _, a := range strings.Fields(actions) {
		out = append(out, coder.Permission{ResourceType: t, Action: coder.RBACAction(a)})
	}
	return out
}

// forbid writes permissions that take an action away.
func forbid(t coder.RBACResource, actions string) []coder.Permission {
	out := grant(t, actions)
	for i := range out {
		out[i].Negate = true
	}
	return out
}

// memberRole is what every user may do. Sessions of a suspended user end
// before anybody asks here.
var memberRole = coder.Role{
	Name: RoleMember, DisplayName: "Member",
	SitePermissions: slices.Concat(
		grant(coder.RBACResourceAssignRole, "read"),
		grant(coder.RBACResourceOauth2App, "read"),
		grant(coder.RBACResourceWorkspaceProxy, "read"),
	),
	UserPermissions: slices.Concat(
		grant(coder.RBACResourceUser, "read read_personal update_personal"),
		grant(coder.RBACResourceAPIKey, "*"),
		grant(coder.RBACResourceFile, "create read"),
		grant(coder.RBACResourceUserSecret, "*"),
		grant(coder.RBACResourceInboxNotification, "*"),
		grant(coder.RBACResourceNotificationPreference, "*"),
		grant(coder.RBACResourceWebpushSubscription, "*"),
		grant(coder.RBACResourceOauth2AppCodeToken, "*"),
	),
}

// siteRoles are the roles that a user may be given on the whole site.
var siteRoles = map[string]coder.Role{
	RoleOwner: {
		Name: RoleOwner, DisplayName: "Owner",
		SitePermissions: grant(coder.RBACResourceAny, "*"),
	},
	RoleTemplateAdmin: {
		Name: RoleTemplateAdmin, DisplayName: "Template Admin",
		SitePermissions: slices.Concat(
			grant(coder.RBACResourceTemplate, "*"),
			grant(coder.RBACResourceFile, "create read"),
			grant(coder.RBACResourceWorkspace, "read"),
			grant(coder.RBACResourceWorkspaceDormant, "read"),
			grant(coder.RBACResourcePrebuiltWorkspace, "*"),
			grant(coder.RBACResourceUser, "read"),
			grant(coder.RBACResourceGroup, "read"),
			grant(coder.RBACResourceGroupMember, "read"),
			grant(coder.RBACResourceOrganization, "read"),
			grant(coder.RBACResourceOrganizationMember, "read"),
			grant(coder.RBACResourceAssignOrgRole, "read"),
			grant(coder.RBACResourceProvisionerDaemon, "*"),
			grant(coder.RBACResourceProvisionerJobs, "*"),
		),
	},
	RoleUserAdmin: {
		Name: RoleUserAdmin, DisplayName: "User Admin",
		SitePermissions: slices.Concat(
			grant(coder.RBACResourceUser, "*"),
			grant(coder.RBACResourceGroup, "*"),
			grant(coder.RBACResourceGroupMember, "*"),
			grant(coder.RBACResourceOrganization, "read"),
			grant(coder.RBACResourceOrganizationMember, "*"),
			grant(coder.RBACResourceAssignOrgRole, "read"),
			grant(coder.RBACResourceIdpsyncSettings, "*"),
			grant(coder.RBACResourceTemplate, "read"),
		),
	},
	RoleAuditor: {
		Name: RoleAuditor, DisplayName: "Auditor",
		SitePermissions: slices.Concat(
			grant(coder.RBACResourceAuditLog, "read"),
			grant(coder.RBACResourceConnectionLog, "read"),
			grant(coder.RBACResourceTemplate, "read view_insights"),
			grant(coder.RBACResourceUser, "read"),
			grant(coder.RBACResourceGroup, "read"),
			grant(coder.RBACResourceGroupMember, "read"),
			grant(coder.RBACResourceOrganization, "read"),
			grant(coder.RBACResourceOrganizationMember, "read"),
			grant(coder.RBACResourceAssignOrgRole, "read"),
			grant(coder.RBACResourceDeploymentConfig, "read"),
			grant(coder.RBACResourceDeploymentStats, "read"),
		),
	},
}

// organizationMemberRole is what every member of an organization may do there.
var organizationMemberRole = coder.Role{
	Name: RoleOrganizationMember, DisplayName: "Organization Member",
	OrganizationPermissions: slices.Concat(
		grant(coder.RBACResourceOrganization, "read"),
		grant(coder.RBACResourceOrganizationMember, "read"),
		grant(coder.RBACResourceAssignOrgRole, "read"),
		grant(coder.RBACResourceGroup, "read"),
	),
	OrganizationMemberPermissions: slices.Concat(
		grant(coder.RBACResourceWorkspace, "*"),
		grant(coder.RBACResourceWorkspaceDormant, "read delete update start stop create_agent delete_agent update_agent"),
		grant(coder.RBACResourceTask, "*"),
		grant(coder.RBACResourceProvisionerDaemon, "*"),
		grant(coder.RBACResourceProvisionerJobs, "read"), // those that one started
		grant(coder.RBACResourceGroupMember, "read"),
		grant(coder.RBACResourceWorkspaceAgentResourceMonitor, "*"),
		grant(coder.RBACResourceWorkspaceAgentDevcontainers, "*"),
	),
}

// organizationRoles are the roles that a member may be given.
var organizationRoles = map[string]coder.Role{
	RoleOrganizationAdmin: {
		Name: RoleOrganizationAdmin, DisplayName: "Organization Admin",
		OrganizationPermissions: slices.Concat(
			grant(coder.RBACResourceOrganization, "read update delete"),
			grant(coder.RBACResourceOrganizationMember, "*"),
			grant(coder.RBACResourceAssignOrgRole, "*"),
			grant(coder.RBACResourceGroup, "*"),
			grant(coder.RBACResourceGroupMember, "*"),
			grant(coder.RBACResourceIdpsyncSettings, "*"),
			grant(coder.RBACResourceTemplate, "*"),
			grant(coder.RBACResourceFile, "create read"),
			// All of a workspace but looking inside: that is its owner's.
			grant(coder.RBACResourceWorkspace, "create read update delete start stop share create_agent delete_agent update_agent"),
			grant(coder.RBACResourceWorkspaceDormant, "create read update delete start stop share create_agent delete_agent update_agent"),
			grant(coder.RBACResourcePrebuiltWorkspace, "*"),
			grant(coder.RBACResourceTask, "*"),
			grant(coder.RBACResourceProvisionerDaemon, "*"),
			grant(coder.RBACResourceProvisionerJobs, "*"),
			grant(coder.RBACResourceAuditLog, "read"),
			grant(coder.RBACResourceConnectionLog, "read"),
		),
	},
	RoleOrganizationAuditor: {
		Name: RoleOrganizationAuditor, DisplayName: "Organization Auditor",
		OrganizationPermissions: slices.Concat(
			grant(coder.RBACResourceAuditLog, "read"),
			grant(coder.RBACResourceConnectionLog, "read"),
			grant(coder.RBACResourceTemplate, "read view_insights"),
			grant(coder.RBACResourceGroupMember, "read"),
		),
	},
	RoleOrganizationTemplateAdmin: {
		Name: RoleOrganizationTemplateAdmin, DisplayName: "Organization Template Admin",
		OrganizationPermissions: slices.Concat(
			grant(coder.RBACResourceTemplate, "*"),
			grant(coder.RBACResourceFile, "create read"),
			grant(coder.RBACResourceWorkspace, "read"),
			grant(coder.RBACResourceWorkspaceDormant, "read"),
			grant(coder.RBACResourcePrebuiltWorkspace, "*"),
			grant(coder.RBACResourceGroupMember, "read"),
			grant(coder.RBACResourceProvisionerDaemon, "*"),
			grant(coder.RBACResourceProvisionerJobs, "*"),
		),
	},
	RoleOrganizationUserAdmin: {
		Name: RoleOrganizationUserAdmin, DisplayName: "Organization User Admin",
		OrganizationPermissions: slices.Concat(
			grant(coder.RBACResourceOrganizationMember, "*"),
			grant(coder.RBACResourceGroup, "*"),
			grant(coder.RBACResourceGroupMember, "*"),
			grant(coder.RBACResourceIdpsyncSettings, "*"),
		),
	},
	RoleOrganizationCreationBan: {
		Name: RoleOrganizationCreationBan, DisplayName: "Organization Workspace Creation Ban",
		OrganizationPermissions: forbid(coder.RBACResourceWorkspace, "create"),
	},
}

// compositeScopes are the scopes with names of their own.
var compositeScopes = map[coder.APIKeyScope][]coder.Permission{
	coder.APIKeyScopeAll:                     grant(coder.RBACResourceAny, "*"),
	coder.APIKeyScopeCoderAll:                grant(coder.RBACResourceAny, "*"),
	coder.APIKeyScopeApplicationConnect:      grant(coder.RBACResourceWorkspace, "application_connect"),
	coder.APIKeyScopeCoderApplicationConnect: grant(coder.RBACResourceWorkspace, "application_connect"),
	coder.APIKeyScopeCoderApikeysManageSelf:  grant(coder.RBACResourceAPIKey, "create read update delete"),
	coder.APIKeyScopeCoderTemplatesBuild: slices.Concat(
		grant(coder.RBACResourceTemplate, "read update"),
		grant(coder.RBACResourceFile, "create read"),
		grant(coder.RBACResourceProvisionerJobs, "read"),
	),
	coder.APIKeyScopeCoderTemplatesAuthor: slices.Concat(
		grant(coder.RBACResourceTemplate, "create read update delete use view_insights"),
		grant(coder.RBACResourceFile, "create read"),
		grant(coder.RBACResourceProvisionerJobs, "read"),
	),
	coder.APIKeyScopeCoderWorkspacesCreate: slices.Concat(
		grant(coder.RBACResourceTemplate, "read use"),
		grant(coder.RBACResourceWorkspace, "create read update"),
	),
	coder.APIKeyScopeCoderWorkspacesOperate: slices.Concat(
		grant(coder.RBACResourceTemplate, "read"),
		grant(coder.RBACResourceWorkspace, "read update start stop"),
	),
	coder.APIKeyScopeCoderWorkspacesDelete: slices.Concat(
		grant(coder.RBACResourceTemplate, "read"),
		grant(coder.RBACResourceWorkspace, "read delete"),
	),
	coder.APIKeyScopeCoderWorkspacesAccess: slices.Concat(
		grant(coder.RBACResourceTemplate, "read"),
		grant(coder.RBACResourceWorkspace, "read ssh application_connect"),
	),
}

// SiteRoles gives the roles that can be given on the site, by name.
func SiteRoles() []coder.Role { return sorted(siteRoles, uuid.Nil) }

// OrganizationRoles gives the roles that can be given in an organization, by name.
func OrganizationRoles(organization uuid.UUID) []coder.Role {
	return sorted(organizationRoles, organization)
}

func sorted(table map[string]coder.Role, organization uuid.UUID) []coder.Role {
	out := make([]coder.Role, 0, len(table))
	for _, r := range table {
		for _, ps := range []*[]coder.Permission{&r.SitePermissions, &r.OrganizationPermissions, &r.OrganizationMemberPermissions, &r.UserPermissions} {
			*ps = append([]coder.Permission{}, *ps...)
		}
		if organization != uuid.Nil {
			r.OrganizationID = organization.String()
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b coder.Role) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// SlimSite names site roles for an answer.
func SlimSite(names []string) []coder.SlimRole {
	out := make([]coder.SlimRole, 0, len(names))
	for _, n := range names {
		out = append(out, coder.SlimRole{Name: n, DisplayName: siteRoles[n].DisplayName})
	}
	return out
}

// SlimOrganization names an organization's roles for an answer.
func SlimOrganization(organization uuid.UUID, names []string) []coder.SlimRole {
	out := make([]coder.SlimRole, 0, len(names))
	for _, n := range names {
		out = append(out, coder.SlimRole{Name: n, DisplayName: organizationRoles[n].DisplayName, OrganizationID: organization.String()})
	}
	return out
}

// words makes a name of the tables readable.
func words(s string) string {
	if s == "*" {
		return "thing"
	}
	return strings.ReplaceAll(s, "_", " ")
}
