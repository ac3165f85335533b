package organization

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// maxRows bounds one page of whom a list may name.
const maxRows = 1000

// maxListed bounds the entries of one access list.
const maxListed = 2000

// List is an access list: the ids of users and groups, each with "use" or
// "admin". Both halves may be nil.
type List struct {
	OrganizationID uuid.UUID
	Users, Groups  map[string]string
}

// Changes are new roles by id; an empty role removes an entry. UserField and
// GroupField are what errors call the halves.
type Changes struct {
	Users, Groups         map[string]string
	UserField, GroupField string
}

// Change gives the list with the changes made. Only members and groups of the
// organization can be named: another entry would give nothing now and surprise
// later. (TPL-13, WS-21)
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
		return l, coder.Invalid(c.UserField, "an access list has at most %d entries; put people into a group and name that", maxListed)
	}
	if len(users) > 0 {
		members, err := q.OrganizationMembersAmong(ctx, l.OrganizationID, users)
		if err != nil {
			return l, err
		}
		if id, all := missing(users, members); !all {
			return l, coder.Invalid(c.UserField, "the user %s is not a member of this organization", id)
		}
	}
	if len(groups) > 0 {
		there, err := q.GroupsAmong(ctx, l.OrganizationID, groups)
		if err != nil {
			return l, err
		}
		if id, all := missing(groups, there); !all {
			return l, coder.Invalid(c.GroupField, "there is no group %s in this organization", id)
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

// put makes changes to one half and gives the ids that got a role.
func put(half map[string]string, field string, changes map[string]string) ([]uuid.UUID, error) {
	var named []uuid.UUID
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		id, err := uuid.Parse(key)
		if err != nil {
			return nil, coder.Invalid(field, "%.40q is not an id", key)
		}
		switch role := changes[key]; role {
		case "":
			delete(half, id.String())
		case string(coder.TemplateRoleUse), string(coder.TemplateRoleAdmin):
			half[id.String()] = role
			named = append(named, id)
		default:
			return nil, coder.Invalid(field, "the role %.20q is none of use, admin and the empty text", role)
		}
	}
	return named, nil
}

// missing gives one of wanted that is not among those there are.
func missing(wanted, there []uuid.UUID) (uuid.UUID, bool) {
	for _, id := range wanted {
		if !slices.Contains(there, id) {
			return id, false
		}
	}
	return uuid.Nil, true
}

// ListedUser is a user that a list names.
type ListedUser struct {
	User sqlc.User
	Role string
}

// ListedGroup is a group that a list names, without its members.
type ListedGroup struct {
	Group coder.Group
	Role  string
}

// Show gives whom the list names, as far as they exist, by name.
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

// Available gives whom the list may name: a page of the members of the
// organization whose name or e-mail has the words in it, and a page of its
// groups, of at most 1000 each. q is a transaction.
func (l List) Available(ctx context.Context, q *sqlc.Queries, words string, page coder.Page) (coder.ACLAvailable, error) {
	out := coder.ACLAvailable{Users: []coder.ReducedUser{}, Groups: []coder.Group{}}
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
	found, err := q.Groups(ctx, sqlc.GroupsParams{SeeAll: true, SeeOrganizations: []uuid.UUID{}, OrganizationID: l.OrganizationID, RowLimit: page.Rows(maxRows), RowOffset: page.Skip()})
	for _, r := range found {
		out.Groups = append(out.Groups, group(r))
	}
	return out, err
}

// Keys gives the ids of one half of an access list.
func Keys(half map[string]string) []uuid.UUID {
	out := make([]uuid.UUID, 0, len(half))
	for k := range half {
		if id, err := uuid.Parse(k); err == nil {
			out = append(out, id)
		}
	}
	return out
}
