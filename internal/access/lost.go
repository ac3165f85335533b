package access

import (
	"slices"

	"github.com/seed-2a7f8fe7/coder/codersdk"
)

// Lost reports whether a subject may have lost any right between two points in time: a role, a
// membership, a group, or a permission of a role.
func Lost(before, after Subject) bool {
	if !within(before.SiteRoles, after.SiteRoles) || !within(before.Groups, after.Groups) {
		return true
	}
	for id, roles := range before.OrganizationRoles {
		now, member := after.OrganizationRoles[id]
		if !member || !within(roles, now) {
			return true
		}
		for _, was := range before.CustomRoles[id] {
			i := slices.IndexFunc(after.CustomRoles[id], func(r codersdk.Role) bool { return r.Name == was.Name })
			if i < 0 || !within(was.OrganizationPermissions, after.CustomRoles[id][i].OrganizationPermissions) ||
				!within(was.OrganizationMemberPermissions, after.CustomRoles[id][i].OrganizationMemberPermissions) {
				return true
			}
		}
	}
	return false
}

// within reports whether all of some are in others.
func within[T comparable](some, others []T) bool {
	return !slices.ContainsFunc(some, func(v T) bool { return !slices.Contains(others, v) })
}
