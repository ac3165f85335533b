package access

import (
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// inOrganizations are the resource types that belong to an organization, for which custom roles can have
// permissions.
var inOrganizations = []codersdk.RBACResource{
	codersdk.RBACResourceAssignOrgRole, codersdk.RBACResourceAuditLog, codersdk.RBACResourceConnectionLog, codersdk.RBACResourceFile,
	codersdk.RBACResourceGroup, codersdk.RBACResourceGroupMember, codersdk.RBACResourceIdpsyncSettings, codersdk.RBACResourceOrganization,
	codersdk.RBACResourceOrganizationMember, codersdk.RBACResourcePrebuiltWorkspace, codersdk.RBACResourceProvisionerDaemon,
	codersdk.RBACResourceProvisionerJobs, codersdk.RBACResourceTask, codersdk.RBACResourceTemplate, codersdk.RBACResourceWorkspace,
	codersdk.RBACResourceWorkspaceAgentDevcontainers, codersdk.RBACResourceWorkspaceAgentResourceMonitor, codersdk.RBACResourceWorkspaceDormant,
}

// CheckPermission rejects permissions that custom roles cannot have: on types outside of organizations,
// unknown ones, and negated ones.
func CheckPermission(field string, p codersdk.Permission) error {
	switch {
	case p.Negate:
		return codersdk.Invalid(field, "negate: custom roles can only grant permissions")
	case !slices.Contains(inOrganizations, p.ResourceType):
		return codersdk.Invalid(field, "resource_type: %.40q does not belong to organizations", p.ResourceType)
	case p.Action != anyAction && !slices.Contains(Actions[p.ResourceType], p.Action):
		return codersdk.Invalid(field, "action: %.40q does not apply to the resource type %s", p.Action, words(string(p.ResourceType)))
	}
	return nil
}

// CheckHolds rejects permissions of the role that the subject does not hold in the organization. Otherwise
// users could extend their rights through roles that they create or assign. Negated permissions can
// always be delegated.
func (s Subject) CheckHolds(r codersdk.Role, organization uuid.UUID) error {
	for _, p := range r.OrganizationPermissions {
		if err := s.checkHolds(p, Object{OrganizationID: organization}); err != nil {
			return err
		}
	}
	for _, p := range r.OrganizationMemberPermissions {
		if err := s.checkHolds(p, Object{OrganizationID: organization, OwnerID: s.UserID}); err != nil {
			return err
		}
	}
	return nil
}

func (s Subject) checkHolds(p codersdk.Permission, o Object) error {
	if p.Negate {
		return nil
	}
	o.Type = p.ResourceType
	actions := []codersdk.RBACAction{p.Action}
	if p.Action == anyAction {
		actions = Actions[p.ResourceType]
	}
	for _, action := range actions {
		if !s.Can(action, o) {
			return codersdk.Errorf(
				codersdk.CodeForbidden,
				"You cannot delegate a permission that you do not have: %s a %s of this organization",
				words(string(action)),
				words(string(p.ResourceType)),
			)
		}
	}
	return nil
}

// ReservedRole reports whether the name is that of a built-in role and cannot be used by a custom role.
func ReservedRole(name string) bool {
	_, organization := organizationRoles[name]
	_, site := siteRoles[name]
	return organization || site || name == RoleMember || name == RoleOrganizationMember
}

// CheckHoldsAllOf returns an error unless the subject can do everything that the roles of target permit
// beyond the implicit ones. Otherwise the subject could use these roles through the target's account.
func (s Subject) CheckHoldsAllOf(target Subject) error {
	for _, name := range target.SiteRoles {
		for _, p := range siteRoles[name].SitePermissions {
			if err := s.checkHolds(p, Object{}); err != nil {
				return err
			}
		}
	}
	for organization, names := range target.OrganizationRoles {
		for _, name := range names {
			if err := s.CheckHolds(organizationRoles[name], organization); err != nil {
				return err
			}
		}
		for _, r := range target.CustomRoles[organization] {
			if err := s.CheckHolds(r, organization); err != nil {
				return err
			}
		}
	}
	return nil
}
