package organization

import (
	"context"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// shownMembers bounds how many members a group is shown with; GroupMembers
// gives the others.
const shownMembers = 1000

// GroupSearch narrows a list of groups; zero fields do not.
type GroupSearch struct {
	OrganizationID uuid.UUID
	HasMember      uuid.UUID
	IDs            []uuid.UUID // nil: any
	Words          string      // part of the name or display name
	WithoutMembers bool        // they take long for large groups
	Limit, Offset  int
}

// Groups gives a page of the groups that the actor may see, by organization
// and name, that of everyone first. (AU-17)
func (s *Service) Groups(ctx context.Context, actor access.Subject, f GroupSearch) ([]coder.Group, error) {
	see := actor.Filter(coder.RBACResourceGroup)
	var out []coder.Group
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
		out = make([]coder.Group, len(rows))
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

func group(r sqlc.GroupsRow) coder.Group {
	g := r.Group
	return coder.Group{
		AvatarURL: g.AvatarURL, DisplayName: g.DisplayName, ID: g.ID, Members: []coder.ReducedUser{}, Name: g.Name,
		OrganizationDisplayName: r.OrganizationDisplayName, OrganizationID: g.OrganizationID, OrganizationName: r.OrganizationName,
		QuotaAllowance: int64(g.QuotaAllowance), Source: coder.GroupSource(g.Source), TotalMemberCount: r.Members, UpdatedAt: g.UpdatedAt,
	}
}

// addMembers fills in, with one query, those members that the actor may see.
func addMembers(ctx context.Context, q *sqlc.Queries, actor access.Subject, groups []coder.Group) error {
	ids := make([]uuid.UUID, len(groups))
	at := map[uuid.UUID]*coder.Group{}
	for i := range groups {
		ids[i], at[groups[i].ID] = groups[i].ID, &groups[i]
	}
	see := actor.Filter(coder.RBACResourceGroupMember)
	rows, err := q.GroupMembers(ctx, sqlc.GroupMembersParams{
		GroupIds: ids, SeeAll: see.All, SeeOrganizations: see.OrganizationIDs, SeeUser: see.OwnerID, Most: shownMembers,
	})
	for _, r := range rows {
		at[r.GroupID].Members = append(at[r.GroupID].Members, Reduced(r.User))
	}
	return err
}

// Group gives one group.
func (s *Service) Group(ctx context.Context, actor access.Subject, id uuid.UUID) (coder.Group, error) {
	if _, err := s.find(ctx, s.c.Store.Queries, actor, coder.RBACActionRead, id); err != nil {
		return coder.Group{}, err
	}
	out, err := s.Groups(ctx, actor, GroupSearch{IDs: []uuid.UUID{id}, Limit: 1})
	if err != nil {
		return coder.Group{}, err
	}
	if len(out) == 0 {
		return coder.Group{}, coder.NotFound()
	}
	return out[0], nil
}

// GroupByName gives the group of that name in an organization.
func (s *Service) GroupByName(ctx context.Context, actor access.Subject, organizationID uuid.UUID, name string) (coder.Group, error) {
	g, err := s.c.Store.GroupByName(ctx, organizationID, name)
	if err != nil {
		return coder.Group{}, err
	}
	return s.Group(ctx, actor, g.ID)
}

// find gives a group on which the actor may do the action.
func (s *Service) find(ctx context.Context, q *sqlc.Queries, actor access.Subject, action coder.RBACAction, id uuid.UUID) (sqlc.Group, error) {
	g, err := q.GroupByID(ctx, id)
	if err != nil {
		return g, err
	}
	return g, actor.Check(action, groupObject(g.OrganizationID, g.ID))
}

// GroupMembers gives a page of those members of a group that the actor may see
// and whose name or e-mail has the words in it, with the count of all of them.
func (s *Service) GroupMembers(ctx context.Context, actor access.Subject, id uuid.UUID, words string, limit, offset int) (coder.GroupMembersResponse, error) {
	out := coder.GroupMembersResponse{Users: []coder.ReducedUser{}}
	if _, err := s.find(ctx, s.c.Store.Queries, actor, coder.RBACActionRead, id); err != nil {
		return out, err
	}
	see := actor.Filter(coder.RBACResourceGroupMember)
	p := sqlc.GroupMembersPageParams{
		GroupID: id, SeeAll: see.All, SeeOrganizations: see.OrganizationIDs, SeeUser: see.OwnerID, Search: words,
		RowLimit: int32(limit), RowOffset: int32(offset),
	}
	rows, err := s.memberRows(ctx, p)
	for _, r := range rows {
		out.Users, out.Count = append(out.Users, Reduced(r.User)), int(r.Count)
	}
	if err == nil && len(rows) == 0 && offset > 0 { // behind the end: the count comes with rows
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

// Reduced is a user as lists of groups and access lists show them.
func Reduced(u sqlc.User) coder.ReducedUser {
	return coder.ReducedUser{
		AvatarURL: u.AvatarURL, CreatedAt: u.CreatedAt.UTC(), Email: u.Email, ID: u.ID, LastSeenAt: u.LastSeenAt.UTC(),
		LoginType: coder.LoginType(u.LoginType), Name: u.Name, Status: coder.UserStatus(u.Status), ThemePreference: u.Theme,
		UpdatedAt: u.UpdatedAt.UTC(), Username: u.Username,
	}
}
