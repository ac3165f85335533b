package organization

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/codersdk"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// shownMembers is the number of members that a group includes; GroupMembers returns the
// others.
const shownMembers = 1000

// GroupSearch filters a list of groups; zero fields match all.
type GroupSearch struct {
	OrganizationID uuid.UUID
	HasMember      uuid.UUID
	IDs            []uuid.UUID // nil for any
	Words          string      // part of the name or display name
	WithoutMembers bool        // members are slow to read for large groups
	Limit, Offset  int
}

// Groups returns a page of the groups that the actor can see, by organization and name; the
// group of all members comes first. (AU-17)
func (s *Service) Groups(ctx context.Context, actor access.Subject, f GroupSearch) ([]codersdk.Group, error) {
	see := actor.Filter(codersdk.RBACResourceGroup)
	var out []codersdk.Group
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.ListPlan(ctx); err != nil {
			return err
		}
		rows, err := q.Groups(ctx, sqlc.GroupsParams{
			Search: f.Words,
			SeeAll: see.All, SeeOrganizations: see.OrganizationIDs, SeeIds: see.IDs,
			OrganizationID: f.OrganizationID, HasMember: f.HasMember, Ids: f.IDs, RowLimit: int32(f.Limit), RowOffset: int32(f.Offset),
		})
		if err != nil {
			return err
		}
		out = make([]codersdk.Group, len(rows))
		for i, r := range rows {
			out[i] = group(r)
		}
		if f.WithoutMembers {
			return nil
		}
		return addMembers(ctx, q, actor, out)
	})
	return out, err
}

func group(r sqlc.GroupsRow) codersdk.Group {
	g := r.Group
	return codersdk.Group{
		AvatarURL: g.AvatarURL, DisplayName: g.DisplayName, ID: g.ID, Members: []codersdk.ReducedUser{}, Name: g.Name,
		OrganizationDisplayName: r.OrganizationDisplayName, OrganizationID: g.OrganizationID, OrganizationName: r.OrganizationName,
		QuotaAllowance: int64(g.QuotaAllowance), Source: codersdk.GroupSource(g.Source), TotalMemberCount: r.Members, UpdatedAt: g.UpdatedAt,
	}
}

// addMembers adds, with one query, the members that the actor can see.
func addMembers(ctx context.Context, q *sqlc.Queries, actor access.Subject, groups []codersdk.Group) error {
	ids := make([]uuid.UUID, len(groups))
	at := map[uuid.UUID]*codersdk.Group{}
	for i := range groups {
		ids[i], at[groups[i].ID] = groups[i].ID, &groups[i]
	}
	see := actor.Filter(codersdk.RBACResourceGroupMember)
	rows, err := q.GroupMembers(ctx, sqlc.GroupMembersParams{
		GroupIds: ids, SeeAll: see.All, SeeOrganizations: see.OrganizationIDs, SeeUser: see.OwnerID, Most: shownMembers,
	})
	for _, r := range rows {
		at[r.GroupID].Members = append(at[r.GroupID].Members, Reduced(r.User))
	}
	return err
}

// Group returns one group.
func (s *Service) Group(ctx context.Context, actor access.Subject, id uuid.UUID) (codersdk.Group, error) {
	if _, err := s.find(ctx, s.c.Store.Queries, actor, codersdk.RBACActionRead, id); err != nil {
		return codersdk.Group{}, err
	}
	out, err := s.Groups(ctx, actor, GroupSearch{IDs: []uuid.UUID{id}, Limit: 1})
	if err != nil {
		return codersdk.Group{}, err
	}
	if len(out) == 0 {
		return codersdk.Group{}, codersdk.NotFound()
	}
	return out[0], nil
}

// GroupByName returns the group of that name in an organization.
func (s *Service) GroupByName(ctx context.Context, actor access.Subject, organizationID uuid.UUID, name string) (codersdk.Group, error) {
	g, err := s.c.Store.GroupByName(ctx, organizationID, name)
	if err != nil {
		return codersdk.Group{}, err
	}
	return s.Group(ctx, actor, g.ID)
}

// find returns a group if the actor can do the action on it.
func (s *Service) find(ctx context.Context, q *sqlc.Queries, actor access.Subject, action codersdk.RBACAction, id uuid.UUID) (sqlc.Group, error) {
	g, err := q.GroupByID(ctx, id)
	if err != nil {
		return g, err
	}
	return g, actor.Check(action, groupObject(g.OrganizationID, g.ID))
}

// GroupMembers returns a page of the members of a group that the actor can see and whose name or
// email contains words, and the count of all of them.
func (s *Service) GroupMembers(
	ctx context.Context,
	actor access.Subject,
	id uuid.UUID,
	words string,
	limit, offset int,
) (codersdk.GroupMembersResponse, error) {
	out := codersdk.GroupMembersResponse{Users: []codersdk.ReducedUser{}}
	if _, err := s.find(ctx, s.c.Store.Queries, actor, codersdk.RBACActionRead, id); err != nil {
		return out, err
	}
	see := actor.Filter(codersdk.RBACResourceGroupMember)
	p := sqlc.GroupMembersPageParams{
		GroupID: id, SeeAll: see.All, SeeOrganizations: see.OrganizationIDs, SeeUser: see.OwnerID, Search: words,
		RowLimit: int32(limit), RowOffset: int32(offset),
	}
	rows, err := s.memberRows(ctx, p)
	for _, r := range rows {
		out.Users, out.Count = append(out.Users, Reduced(r.User)), int(r.Count)
	}
	if err == nil && len(rows) == 0 && offset > 0 { // beyond the end: the count comes with rows
		p.RowOffset, p.RowLimit = 0, 1
		if rows, err = s.memberRows(ctx, p); len(rows) > 0 {
			out.Count = int(rows[0].Count)
		}
	}
	return out, err
}

func (s *Service) memberRows(ctx context.Context, p sqlc.GroupMembersPageParams) (rows []sqlc.GroupMembersPageRow, err error) {
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.ListPlan(ctx); err != nil {
			return err
		}
		rows, err = q.GroupMembersPage(ctx, p)
		return err
	})
	return rows, err
}

// Reduced returns the API view of a user in groups and access lists.
func Reduced(u sqlc.User) codersdk.ReducedUser {
	return codersdk.ReducedUser{
		AvatarURL: u.AvatarURL, CreatedAt: u.CreatedAt.UTC(), Email: u.Email, ID: u.ID, LastSeenAt: u.LastSeenAt.UTC(),
		LoginType: codersdk.LoginType(u.LoginType), Name: u.Name, Status: codersdk.UserStatus(u.Status), ThemePreference: u.Theme,
		UpdatedAt: u.UpdatedAt.UTC(), Username: u.Username,
	}
}
