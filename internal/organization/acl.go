package organization

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxRows is the largest page of available users and groups.
const maxRows = 1000

// maxListed is the maximum number of entries of an access list.
const maxListed = 2000

// List is an access list: IDs of users and groups, each with "use" or "admin". Both maps can be
// nil.
type List struct {
	OrganizationID uuid.UUID
	Users, Groups  map[string]string
}

// Changes are new roles by ID; an empty role removes an entry. UserField and GroupField are the
// names of the maps in errors.
type Changes struct {
	Users, Groups         map[string]string
	UserField, GroupField string
}

// Change returns the list with the changes. Only members and groups of the organization can be
// named, because an entry for another user would take effect when that user joins. (TPL-13,
// WS-21)
func (l List) Change(ctx context.Context, q *sqlc.Queries, c Changes) (List, error) {
	out := List{OrganizationID: l.OrganizationID, Users: clone(l.Users), Groups: clone(l.Groups)}
	users, err := put(out.Users, c.UserField, c.Users)
	if err != nil {
		return l, err
	}
	groups, err := put(out.Groups, c.GroupField, c.Groups)
	if err != nil {
		return l, err
	}
	if len(out.Users)+len(out.Groups) > maxListed {
		return l, codersdk.Invalid(c.UserField, "an access list can have at most %d entries; add the users to a group instead", maxListed)
	}
	if len(users) > 0 {
		members, err := q.OrganizationMembersAmong(ctx, l.OrganizationID, users)
		if err != nil {
			return l, err
		}
		if id, all := missing(users, members); !all {
			return l, codersdk.Invalid(c.UserField, "user %s is not a member of this organization", id)
		}
	}
	if len(groups) > 0 {
		there, err := q.GroupsAmong(ctx, l.OrganizationID, groups)
		if err != nil {
			return l, err
		}
		if id, all := missing(groups, there); !all {
			return l, codersdk.Invalid(c.GroupField, "group %s not found in this organization", id)
		}
	}
	return out, nil
}

func clone(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return maps.Clone(m)
}

// put applies changes to one map and returns the IDs that got a role.
func put(half map[string]string, field string, changes map[string]string) ([]uuid.UUID, error) {
	var named []uuid.UUID
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		id, err := uuid.Parse(key)
		if err != nil {
			return nil, codersdk.Invalid(field, "%.40q is not a UUID", key)
		}
		switch role := changes[key]; role {
		case "":
			delete(half, id.String())
		case string(codersdk.TemplateRoleUse), string(codersdk.TemplateRoleAdmin):
			half[id.String()] = role
			named = append(named, id)
		default:
			return nil, codersdk.Invalid(field, "the role %.20q is not valid; use admin, use or an empty string", role)
		}
	}
	return named, nil
}

// missing returns one of wanted that is not in the existing IDs.
func missing(wanted, there []uuid.UUID) (uuid.UUID, bool) {
	for _, id := range wanted {
		if !slices.Contains(there, id) {
			return id, false
		}
	}
	return uuid.Nil, true
}

// ListedUser is a user in an access list.
type ListedUser struct {
	User sqlc.User
	Role string
}

// ListedGroup is a group in an access list, without its members.
type ListedGroup struct {
	Group codersdk.Group
	Role  string
}

// Show returns the existing users and groups of the list by name.
func (l List) Show(ctx context.Context, q *sqlc.Queries) (users []ListedUser, groups []ListedGroup, err error) {
	rows, err := q.ListedUsers(ctx, Keys(l.Users))
	if err != nil {
		return nil, nil, err
	}
	for _, u := range rows {
		users = append(users, ListedUser{u, l.Users[u.ID.String()]})
	}
	ids := Keys(l.Groups)
	if len(ids) == 0 {
		return users, nil, nil
	}
	found, err := q.Groups(ctx, sqlc.GroupsParams{SeeAll: true, SeeOrganizations: []uuid.UUID{}, OrganizationID: l.OrganizationID, Ids: ids, RowLimit: maxListed})
	for _, r := range found {
		groups = append(groups, ListedGroup{group(r), l.Groups[r.Group.ID.String()]})
	}
	return users, groups, err
}

// Available returns the users and groups that the list can name: a page of the members of the
// organization whose name or email contains words, and a page of its groups, at most 1000
// each. q must be a transaction.
func (l List) Available(ctx context.Context, q *sqlc.Queries, words string, page codersdk.Page) (codersdk.ACLAvailable, error) {
	out := codersdk.ACLAvailable{Users: []codersdk.ReducedUser{}, Groups: []codersdk.Group{}}
	if err := q.ListPlan(ctx); err != nil {
		return out, err
	}
	members, err := q.ACLMembers(ctx, sqlc.ACLMembersParams{OrganizationID: l.OrganizationID, Words: words, RowLimit: page.Rows(maxRows), RowOffset: page.Skip()})
	if err != nil {
		return out, err
	}
	for _, u := range members {
		out.Users = append(out.Users, Reduced(u))
	}
	found, err := q.Groups(ctx, sqlc.GroupsParams{
		SeeAll: true, SeeOrganizations: []uuid.UUID{}, OrganizationID: l.OrganizationID,
		RowLimit: page.Rows(maxRows), RowOffset: page.Skip(),
	})
	for _, r := range found {
		out.Groups = append(out.Groups, group(r))
	}
	return out, err
}

// Keys returns the IDs of one map of an access list.
func Keys(half map[string]string) []uuid.UUID {
	out := make([]uuid.UUID, 0, len(half))
	for k := range half {
		if id, err := uuid.Parse(k); err == nil {
			out = append(out, id)
		}
	}
	return out
}
