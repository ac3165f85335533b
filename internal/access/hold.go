package access

import (
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// inOrganizations are the types of resources that belong to an organization,
// about which its own roles can speak.
var inOrganizations = []coder.RBACResource{
	coder.RBACResourceAssignOrgRole, coder.RBACResourceAuditLog, coder.RBACResourceConnectionLog, coder.RBACResourceFile,
	coder.RBACResourceGroup, coder.RBACResourceGroupMember, coder.RBACResourceIdpsyncSettings, coder.RBACResourceOrganization,
	coder.RBACResourceOrganizationMember, coder.RBACResourcePrebuiltWorkspace, coder.RBACResourceProvisionerDaemon,
	coder.RBACResourceProvisionerJobs, coder.RBACResourceTask, coder.RBACResourceTemplate, coder.RBACResourceWorkspace,
	coder.RBACResourceWorkspaceAgentDevcontainers, coder.RBACResourceWorkspaceAgentResourceMonitor, coder.RBACResourceWorkspaceDormant,
}

// CheckPermission refuses a permission that a role of an organization's own
// cannot have: one of something that organizations do not have, one that does
// not exist, and one that takes away.
func CheckPermission(field string, p coder.Permission) error {
	switch {
	case p.Negate:
		return coder.Invalid(field, "negate: a role of your own can give permissions, not take any away")
	case !slices.Contains(inOrganizations, p.ResourceType):
		return coder.Invalid(field, "resource_type: %.40q is nothing that belongs to an organization", p.ResourceType)
	case p.Action != anyAction && !slices.Contains(Actions[p.ResourceType], p.Action):
		return coder.Invalid(field, "action: %.40q is nothing that can be done with a %s", p.Action, words(string(p.ResourceType)))
	}
	return nil
}

// CheckHolds refuses to let the subject hand on, within an organization, a
// permission of the role that it does not hold there itself: or people could
// make more of themselves by making roles. What a role takes away may always
// be handed on.
func (s Subject) CheckHolds(r coder.Role, organization uuid.UUID) error {
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

func (s Subject) checkHolds(p coder.Permission, o Object) error {
	if p.Negate {
		return nil
	}
	o.Type = p.ResourceType
	actions := []coder.RBACAction{p.Action}
	if p.Action == anyAction {
		actions = Actions[p.ResourceType]
	}
	for _, action := range actions {
		if !s.Can(action, o) {
			return coder.Errorf(coder.CodeForbidden, "You may not hand on what you may not do yourself: %s a %s of this organization", words(string(action)), words(string(p.ResourceType)))
		}
	}
	return nil
}

// BuiltInRole gives the built-in role of an organization of that name.
func BuiltInRole(name string) (coder.Role, bool) {
	r, ok := organizationRoles[name]
	return r, ok
}

// ReservedRole says whether a role of an organization's own cannot have the
// name, since a built-in one has.
func ReservedRole(name string) bool {
	_, organization := organizationRoles[name]
	_, site := siteRoles[name]
	return organization || site || name == RoleMember || name == RoleOrganizationMember
}
