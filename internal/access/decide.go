package access

import (
	"iter"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// anyAction means every action in a permission.
const anyAction codersdk.RBACAction = "*"

// System returns the subject of the server itself.
func System() Subject { return Subject{System: true} }

// IsOwner reports whether the subject has the site role owner without restrictions of a token.
func (s Subject) IsOwner() bool {
	return s.System || slices.Contains(s.SiteRoles, RoleOwner) && !s.Narrowed()
}

// Can reports whether the subject can do the action on the object.
func (s Subject) Can(action codersdk.RBACAction, o Object) bool {
	if s.System {
		return true
	}
	if s.UserID == uuid.Nil || !s.scopesPermit(action, o) || !s.listPermits(o.Type, o.ID, action, o) {
		return false
	}
	switch s.siteVerdict(action, o) {
	case permitted:
		return true
	case forbidden:
		return false
	}
	_, member := s.OrganizationRoles[o.OrganizationID]
	member = member && o.OrganizationID != uuid.Nil
	owned := o.OwnerID != uuid.Nil && o.OwnerID == s.UserID
	if member {
		switch s.organizationVerdict(o.OrganizationID, action, o.Type, owned) {
		case permitted:
			return true
		case forbidden:
			return false
		}
	}
	if owned && judge(memberRole.UserPermissions, action, o.Type) == permitted {
		return true
	}
	return s.listed(action, o)
}

// Check is Can as an error: nil, CodeForbidden for an object that the subject can read, or NotFound for an
// object that it cannot see.
func (s Subject) Check(action codersdk.RBACAction, o Object) error {
	if s.Can(action, o) {
		return nil
	}
	if action == codersdk.RBACActionCreate || action != codersdk.RBACActionRead && s.Can(codersdk.RBACActionRead, o) {
		if action == codersdk.RBACActionAssign || action == codersdk.RBACActionUnassign {
			return codersdk.Errorf(codersdk.CodeForbidden, "You do not have permission to assign or remove this role")
		}
		return codersdk.Errorf(codersdk.CodeForbidden, "You do not have permission to %s this %s", words(string(action)), words(string(o.Type)))
	}
	return codersdk.NotFound()
}

// CanAnywhere reports whether the subject can do the action on its own objects of the type on the site or
// in at least one of its organizations.
func (s Subject) CanAnywhere(action codersdk.RBACAction, o Object) bool {
	if s.Can(action, o) {
		return true
	}
	for id := range s.OrganizationRoles {
		o.OrganizationID = id
		if s.Can(action, o) {
			return true
		}
	}
	return false
}

// Filter returns the rows of the type that the subject can read. Owned rows count for types with owners;
// access lists count for templates and workspaces.
func (s Subject) Filter(t codersdk.RBACResource) Filter {
	if s.System {
		return Filter{All: true}
	}
	read := Object{Type: t}
	ids, some := s.listedIDs(t)
	switch {
	case s.UserID == uuid.Nil:
		return Filter{}
	case some && s.scopesPermit(codersdk.RBACActionRead, read):
	case t == codersdk.RBACResourceUser: // users can always read their own account
		return Filter{OwnerID: s.UserID}
	default:
		return Filter{}
	}
	f := Filter{IDs: ids}
	if s.siteVerdict(codersdk.RBACActionRead, read) == permitted {
		f.All = true
		return f
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.OrganizationRoles), func(a, b uuid.UUID) int {
		return slices.Compare(a[:], b[:])
	}) {
		f.MemberOf = append(f.MemberOf, id)
		if s.organizationVerdict(id, codersdk.RBACActionRead, t, false) == permitted {
			f.OrganizationIDs = append(f.OrganizationIDs, id)
		}
	}
	for _, id := range s.Groups {
		f.GroupKeys = append(f.GroupKeys, id.String())
	}
	f.UserKey = s.UserID.String()
	if !s.listsCount(t) {
		f.UserKey, f.GroupKeys = "", nil
	}
	if judge(memberRole.UserPermissions, codersdk.RBACActionRead, t) == permitted ||
		judge(organizationMemberRole.OrganizationMemberPermissions, codersdk.RBACActionRead, t) == permitted {
		f.OwnerID = s.UserID
	}
	return f
}

// verdict is the result of one level; the greater wins.
type verdict int

const (
	silent verdict = iota
	permitted
	forbidden
)

// judge evaluates a list of permissions; a negated one wins.
func judge(ps []codersdk.Permission, action codersdk.RBACAction, t codersdk.RBACResource) verdict {
	v := silent
	for _, p := range ps {
		if (p.Action != action && p.Action != anyAction) || (p.ResourceType != t && p.ResourceType != codersdk.RBACResourceAny) {
			continue
		}
		if p.Negate {
			return forbidden
		}
		v = permitted
	}
	return v
}

func (s Subject) siteVerdict(action codersdk.RBACAction, o Object) verdict {
	v := judge(memberRole.SitePermissions, action, o.Type)
	for _, name := range s.SiteRoles {
		r, ok := siteRoles[name]
		if !ok {
			continue
		}
		if name == RoleOwner && s.NoOwnerWorkspaceAccess && o.OwnerID != s.UserID && opensWorkspace(action, o.Type) {
			continue
		}
		switch judge(r.SitePermissions, action, o.Type) {
		case forbidden:
			return forbidden
		case permitted:
			v = permitted
		}
	}
	return v
}

// opensWorkspace reports whether the action opens a workspace.
func opensWorkspace(action codersdk.RBACAction, t codersdk.RBACResource) bool {
	return (t == codersdk.RBACResourceWorkspace || t == codersdk.RBACResourceWorkspaceDormant) &&
		(action == codersdk.RBACActionSSH || action == codersdk.RBACActionApplicationConnect)
}

// organizationVerdict evaluates the roles in an organization: first for all objects there, then for the
// subject's own objects.
func (s Subject) organizationVerdict(organization uuid.UUID, action codersdk.RBACAction, t codersdk.RBACResource, owned bool) verdict {
	everything, own := silent, silent
	for r := range s.rolesIn(organization) {
		everything = max(everything, judge(r.OrganizationPermissions, action, t))
		own = max(own, judge(r.OrganizationMemberPermissions, action, t))
	}
	if everything == silent && owned {
		return own
	}
	return everything
}

// rolesIn returns the roles of the subject in an organization of which it is a member, the implicit role
// first.
func (s Subject) rolesIn(organization uuid.UUID) iter.Seq[codersdk.Role] {
	return func(yield func(codersdk.Role) bool) {
		if !yield(organizationMemberRole) {
			return
		}
		for _, name := range s.OrganizationRoles[organization] {
			if r, ok := organizationRoles[name]; ok && !yield(r) {
				return
			}
		}
		for _, r := range s.CustomRoles[organization] {
			if !yield(r) {
				return
			}
		}
	}
}

// listsCount reports whether access lists of the type apply to the subject.
func (s Subject) listsCount(t codersdk.RBACResource) bool {
	return t == codersdk.RBACResourceTemplate || t == codersdk.RBACResourceWorkspace && !s.NoSharing
}

// listed evaluates the access lists of a template or workspace. They apply only to members of its
// organization.
func (s Subject) listed(action codersdk.RBACAction, o Object) bool {
	if _, member := s.OrganizationRoles[o.OrganizationID]; !member || !s.listsCount(o.Type) {
		return false
	}
	if aclPermits(o.UserACL[s.UserID.String()], action, o.Type) || aclPermits(o.GroupACL[o.OrganizationID.String()], action, o.Type) {
		return true
	}
	return len(o.GroupACL) > 0 && slices.ContainsFunc(s.Groups, func(id uuid.UUID) bool {
		return aclPermits(o.GroupACL[id.String()], action, o.Type)
	})
}

// aclPermits reports whether the entry "use" or "admin" permits the action.
func aclPermits(role string, action codersdk.RBACAction, t codersdk.RBACResource) bool {
	switch {
	case t == codersdk.RBACResourceTemplate && role == "admin":
		return true
	case t == codersdk.RBACResourceTemplate && role == "use":
		return action == codersdk.RBACActionRead || action == codersdk.RBACActionUse
	case t == codersdk.RBACResourceWorkspace && role == "admin": // all but deletion, which only the owner can do
		return action != codersdk.RBACActionDelete && action != codersdk.RBACActionCreate
	case t == codersdk.RBACResourceWorkspace && role == "use":
		return slices.Contains([]codersdk.RBACAction{
			codersdk.RBACActionRead, codersdk.RBACActionSSH, codersdk.RBACActionApplicationConnect,
			codersdk.RBACActionStart, codersdk.RBACActionStop,
		}, action)
	}
	return false
}
