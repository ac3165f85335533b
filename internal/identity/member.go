package identity

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder"
	"github.com/seed-2a7f8fe7/coder/internal/access"
	"github.com/seed-2a7f8fe7/coder/internal/audit"
	"github.com/seed-2a7f8fe7/coder/internal/organization"
	"github.com/seed-2a7f8fe7/coder/internal/postgres"
	"github.com/seed-2a7f8fe7/coder/internal/postgres/sqlc"
)

// MemberSearch narrows a list of members; zero fields do not.
type MemberSearch struct {
	Text          string // part of username, e-mail or name
	UserID        uuid.UUID
	Limit, Offset int
}

// Members gives a page of an organization's members by username, and the count
// of all that match.
func (s *Service) Members(ctx context.Context, actor access.Subject, ref string, f MemberSearch) (coder.PaginatedMembersResponse, error) {
	out := coder.PaginatedMembersResponse{Members: []coder.OrganizationMemberWithUserData{}}
	o, err := s.OrganizationByRef(ctx, actor, ref)
	if err != nil {
		return out, err
	}
	p := sqlc.OrganizationMembersParams{
		OrganizationID: o.ID, SeeAll: actor.Can(coder.RBACActionRead, access.Object{Type: coder.RBACResourceOrganizationMember, OrganizationID: o.ID}),
		SeeID: actor.UserID, UserID: f.UserID, Search: f.Text, RowLimit: int32(f.Limit), RowOffset: int32(f.Offset),
	}
	rows, err := s.memberRows(ctx, p)
	if err == nil && len(rows) == 0 && f.Offset > 0 { // behind the end: the count comes with rows
		p.RowOffset, p.RowLimit = 0, 1
		if rows, err = s.memberRows(ctx, p); len(rows) > 0 {
			out.Count, rows = int(rows[0].Count), nil
		}
	}
	if err != nil {
		return out, err
	}
	if len(rows) > 0 {
		out.Count = int(rows[0].Count)
	}
	own, err := s.c.Store.CustomRoles(ctx, o.ID)
	for _, r := range rows {
		out.Members = append(out.Members, coder.OrganizationMemberWithUserData{
			UserID: r.OrganizationMember.UserID, OrganizationID: o.ID, Username: r.Username, Name: r.Name, Email: r.Email, AvatarURL: r.AvatarURL,
			Roles: slimRoles(o.ID, r.OrganizationMember.Roles, own), GlobalRoles: access.SlimSite(r.SiteRoles),
			CreatedAt: r.OrganizationMember.CreatedAt, UpdatedAt: r.OrganizationMember.UpdatedAt,
		})
	}
	return out, err
}

func (s *Service) memberRows(ctx context.Context, p sqlc.OrganizationMembersParams) (rows []sqlc.OrganizationMembersRow, err error) {
	err = s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		if err := q.ListPlan(ctx); err != nil {
			return err
		}
		rows, err = q.OrganizationMembers(ctx, p)
		return err
	})
	return rows, err
}

// slimRoles names roles that a member has, of which some may be the
// organization's own.
func slimRoles(organization uuid.UUID, names []string, own []sqlc.CustomRole) []coder.SlimRole {
	out := access.SlimOrganization(organization, names)
	for i := range out {
		for _, r := range own {
			if r.Name == out[i].Name {
				out[i].DisplayName = r.DisplayName
			}
		}
	}
	return out
}

// Member gives one member of an organization.
func (s *Service) Member(ctx context.Context, actor access.Subject, organization, user string) (coder.OrganizationMemberWithUserData, error) {
	u, err := s.userRow(ctx, s.c.Store.Queries, actor, user)
	if err != nil {
		return coder.OrganizationMemberWithUserData{}, err
	}
	page, err := s.Members(ctx, actor, organization, MemberSearch{UserID: u.ID, Limit: 1})
	if err != nil {
		return coder.OrganizationMemberWithUserData{}, err
	}
	if len(page.Members) == 0 {
		return coder.OrganizationMemberWithUserData{}, coder.NotFound()
	}
	return page.Members[0], nil
}

// changeMember finds organization and user, checks the action, runs fn and
// records what it did.
func (s *Service) changeMember(ctx context.Context, actor access.Subject, organization, user string, action coder.RBACAction, kind coder.AuditAction,
	fn func(q *sqlc.Queries, o sqlc.Organization, u sqlc.User) (old, new any, err error),
) error {
	var id uuid.UUID
	err := s.c.Store.Tx(ctx, func(q *sqlc.Queries) error {
		o, err := organizationRow(ctx, q, organization)
		if err != nil {
			return err
		}
		if err := actor.Check(coder.RBACActionRead, organizationObject(o.ID)); err != nil {
			return err
		}
		object := access.Object{Type: coder.RBACResourceOrganizationMember, OrganizationID: o.ID}
		if action == coder.RBACActionAssign {
			object.Type = coder.RBACResourceAssignOrgRole
		}
		if err := actor.Check(action, object); err != nil {
			return err
		}
		u, err := s.userRow(ctx, q, actor, user)
		if err != nil {
			return err
		}
		if err := nobodys(u); err != nil {
			return err
		}
		old, new, err := fn(q, o, u)
		if err != nil {
			return err
		}
		id = u.ID
		return audit.Record(ctx, q, actor, audit.Entry{
			Action: kind, ResourceType: coder.ResourceTypeOrganizationMember, ResourceID: u.ID, OrganizationID: o.ID,
			Target: u.Username, Diff: audit.Diff(old, new),
		})
	})
	if err == nil {
		s.changedRights(id)
	}
	return err
}

// AddMember makes a user a member of an organization.
func (s *Service) AddMember(ctx context.Context, actor access.Subject, organization, user string) (coder.OrganizationMember, error) {
	var out coder.OrganizationMember
	err := s.changeMember(ctx, actor, organization, user, coder.RBACActionCreate, coder.AuditActionCreate,
		func(q *sqlc.Queries, o sqlc.Organization, u sqlc.User) (any, any, error) {
			row, err := q.InsertOrganizationMember(ctx, sqlc.InsertOrganizationMemberParams{
				OrganizationID: o.ID, UserID: u.ID, Roles: []string{}, Now: s.now(),
			})
			if postgres.Constraint(err) == "organization_members_pkey" {
				err = coder.Errorf(coder.CodeConflict, "%s is a member of %s already", u.Username, o.Name)
			}
			out = member(row, nil)
			return nil, out, err
		})
	return out, err
}

// RemoveMember ends a membership, and with it what groups and access lists of
// the organization gave. Refused while the user owns workspaces in the
// organization, which nobody could open any more.
func (s *Service) RemoveMember(ctx context.Context, actor access.Subject, ref, user string) error {
	return s.changeMember(ctx, actor, ref, user, coder.RBACActionDelete, coder.AuditActionDelete,
		func(q *sqlc.Queries, o sqlc.Organization, u sqlc.User) (any, any, error) {
			row, err := q.OrganizationMember(ctx, o.ID, u.ID)
			if err != nil {
				return nil, nil, err
			}
			owns, err := q.MemberOwnsWorkspaces(ctx, o.ID, u.ID)
			if err == nil && owns {
				err = coder.Errorf(coder.CodeConflict, "%s still owns workspaces in %s; delete them first", u.Username, o.Name)
			}
			if err != nil {
				return nil, nil, err
			}
			if _, err := organization.Forget(ctx, q, o.ID, u.ID); err != nil {
				return nil, nil, err
			}
			_, err = q.DeleteOrganizationMember(ctx, o.ID, u.ID)
			return member(row, nil), nil, err
		})
}

// UpdateMemberRoles replaces a member's roles in the organization. Nobody but
// a site owner changes their own, and nobody gives or takes away a role that
// permits more than they may themselves.
func (s *Service) UpdateMemberRoles(ctx context.Context, actor access.Subject, organization, user string, req coder.UpdateRoles) (coder.OrganizationMember, error) {
	var out coder.OrganizationMember
	err := s.changeMember(ctx, actor, organization, user, coder.RBACActionAssign, coder.AuditActionWrite,
		func(q *sqlc.Queries, o sqlc.Organization, u sqlc.User) (any, any, error) {
			if u.ID == actor.UserID && !actor.IsOwner() {
				return nil, nil, coder.Errorf(coder.CodeInvalid, "You cannot change your own roles")
			}
			own, err := q.CustomRoles(ctx, o.ID)
			if err != nil {
				return nil, nil, err
			}
			known := access.OrganizationRoles(o.ID)
			for _, r := range own {
				known = append(known, coder.Role{Name: r.Name, OrganizationPermissions: r.OrganizationPermissions, OrganizationMemberPermissions: r.MemberPermissions})
			}
			roles, err := roleNames(req.Roles, access.RoleOrganizationMember, known)
			if err != nil {
				return nil, nil, err
			}
			old, err := q.OrganizationMemberForUpdate(ctx, o.ID, u.ID)
			if err != nil {
				return nil, nil, err
			}
			if err := req.Check("member", old.UpdatedAt); err != nil {
				return nil, nil, err
			}
			for _, r := range known {
				if slices.Contains(roles, r.Name) != slices.Contains(old.Roles, r.Name) {
					if err := actor.CheckHolds(r, o.ID); err != nil {
						return nil, nil, err
					}
				}
			}
			row, err := q.UpdateOrganizationMemberRoles(ctx, sqlc.UpdateOrganizationMemberRolesParams{
				OrganizationID: o.ID, UserID: u.ID, Roles: roles, Now: s.now(),
			})
			out = member(row, own)
			return member(old, own), out, err
		})
	return out, err
}

func member(r sqlc.OrganizationMember, own []sqlc.CustomRole) coder.OrganizationMember {
	return coder.OrganizationMember{
		UserID: r.UserID, OrganizationID: r.OrganizationID, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		Roles: slimRoles(r.OrganizationID, r.Roles, own),
	}
}

// SiteRoles lists the roles of the site and whether the actor may assign them.
func (s *Service) SiteRoles(actor access.Subject) ([]coder.AssignableRoles, error) {
	if err := actor.Check(coder.RBACActionRead, access.Object{Type: coder.RBACResourceAssignRole}); err != nil {
		return nil, err
	}
	return assignable(access.SiteRoles(), actor.Can(coder.RBACActionAssign, access.Object{Type: coder.RBACResourceAssignRole})), nil
}

func assignable(roles []coder.Role, may bool) []coder.AssignableRoles {
	out := make([]coder.AssignableRoles, len(roles))
	for i, r := range roles {
		out[i] = coder.AssignableRoles{
			Assignable: may, BuiltIn: true, Name: r.Name, DisplayName: r.DisplayName, OrganizationID: r.OrganizationID,
			SitePermissions: r.SitePermissions, OrganizationPermissions: r.OrganizationPermissions,
			OrganizationMemberPermissions: r.OrganizationMemberPermissions, UserPermissions: r.UserPermissions,
		}
	}
	return out
}
