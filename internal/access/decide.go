package access

import (
	"iter"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
)

// anyAction stands for every action in a permission.
const anyAction coder.RBACAction = "*"

// System gives the subject that is the server itself.
func System() Subject { return Subject{System: true} }

// IsOwner says whether the subject has the site role owner and uses it unnarrowed.
func (s Subject) IsOwner() bool {
	return s.System || slices.Contains(s.SiteRoles, RoleOwner) && !s.Narrowed()
}

// Can says whether the subject may do the action on the object.
func (s Subject) Can(action coder.RBACAction, o Object) bool {
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

// Check is Can as an error: nil, CodeForbidden for an object that the subject
// may at least read, NotFound for one that it may not even see.
func (s Subject) Check(action coder.RBACAction, o Object) error {
	if s.Can(action, o) {
		return nil
	}
	if action == coder.RBACActionCreate || action != coder.RBACActionRead && s.Can(coder.RBACActionRead, o) {
		if action == coder.RBACActionAssign || action == coder.RBACActionUnassign {
			return coder.Errorf(coder.CodeForbidden, "You may not give or take away this role")
		}
		return coder.Errorf(coder.CodeForbidden, "You may not %s this %s", words(string(action)), words(string(o.Type)))
	}
	return coder.NotFound()
}

// CanAnywhere says whether the subject may do the action on its own objects of
// the type in at least one of its organizations, or on the site.
func (s Subject) CanAnywhere(action coder.RBACAction, o Object) bool {
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

// Filter says which rows of the type the subject may read. Rows of one's own
// count for types that people own; access lists for templates and workspaces.
func (s Subject) Filter(t coder.RBACResource) Filter {
	if s.System {
		return Filter{All: true}
	}
	read := Object{Type: t}
	ids, some := s.listedIDs(t)
	switch {
	case s.UserID == uuid.Nil:
		return Filter{}
	case some && s.scopesPermit(coder.RBACActionRead, read):
	case t == coder.RBACResourceUser: // whoever one is, one knows that
		return Filter{OwnerID: s.UserID}
	default:
		return Filter{}
	}
	f := Filter{IDs: ids}
	if s.siteVerdict(coder.RBACActionRead, read) == permitted {
		f.All = true
		return f
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.OrganizationRoles), func(a, b uuid.UUID) int {
		return slices.Compare(a[:], b[:])
	}) {
		f.MemberOf = append(f.MemberOf, id)
		if s.organizationVerdict(id, coder.RBACActionRead, t, false) == permitted {
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
	if judge(memberRole.UserPermissions, coder.RBACActionRead, t) == permitted ||
		judge(organizationMemberRole.OrganizationMemberPermissions, coder.RBACActionRead, t) == permitted {
		f.OwnerID = s.UserID
	}
	return f
}

// verdict is what one level says; the greater wins.
type verdict int

const (
	silent verdict = iota
	permitted
	forbidden
)

// judge asks one list of permissions; forbidding wins within it.
func judge(ps []coder.Permission, action coder.RBACAction, t coder.RBACResource) verdict {
	v := silent
	for _, p := range ps {
		if (p.Action != action && p.Action != anyAction) || (p.ResourceType != t && p.ResourceType != coder.RBACResourceAny) {
			continue
		}
		if p.Negate {
			return forbidden
		}
		v = permitted
	}
	return v
}

func (s Subject) siteVerdict(action coder.RBACAction, o Object) verdict {
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

// opensWorkspace says whether the action looks inside of a workspace.
func opensWorkspace(action coder.RBACAction, t coder.RBACResource) bool {
	return (t == coder.RBACResourceWorkspace || t == coder.RBACResourceWorkspaceDormant) &&
		(action == coder.RBACActionSSH || action == coder.RBACActionApplicationConnect)
}

// organizationVerdict asks the roles within an organization about everything
// there, then, for what the subject owns there, about one's own.
func (s Subject) organizationVerdict(organization uuid.UUID, action coder.RBACAction, t coder.RBACResource, owned bool) verdict {
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

// rolesIn gives the roles of the subject in an organization that it is a
// member of, the membership itself first.
func (s Subject) rolesIn(organization uuid.UUID) iter.Seq[coder.Role] {
	return func(yield func(coder.Role) bool) {
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

// listsCount says whether access lists of the type count for the subject.
func (s Subject) listsCount(t coder.RBACResource) bool {
	return t == coder.RBACResourceTemplate || t == coder.RBACResourceWorkspace && !s.NoSharing
}

// listed asks the access lists of a template or workspace. They count only for
// members of its organization.
func (s Subject) listed(action coder.RBACAction, o Object) bool {
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

// aclPermits says what the entries "use" and "admin" permit.
func aclPermits(role string, action coder.RBACAction, t coder.RBACResource) bool {
	switch {
	case t == coder.RBACResourceTemplate && role == "admin":
		return true
	case t == coder.RBACResourceTemplate && role == "use":
		return action == coder.RBACActionRead || action == coder.RBACActionUse
	case t == coder.RBACResourceWorkspace && role == "admin": // all but what ends it: that stays with its owner
		return action != coder.RBACActionDelete && action != coder.RBACActionCreate
	case t == coder.RBACResourceWorkspace && role == "use":
		return slices.Contains([]coder.RBACAction{
			coder.RBACActionRead, coder.RBACActionSSH, coder.RBACActionApplicationConnect,
			coder.RBACActionStart, coder.RBACActionStop,
		}, action)
	}
	return false
}
